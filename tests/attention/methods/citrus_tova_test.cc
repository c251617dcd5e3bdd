// A standard list read in chunks of one token: the newest token, and what it attends to most.

#include <gtest/gtest.h>

#include "attention/eviction_oracle.h"

namespace longhaul {
namespace {

using namespace testing_support;

/// Tokens in a standard list after a document of 60 tokens, read one by one with k = 12.
std::vector<std::vector<int64_t>> kept_token_by_token(const ModelShape& shape, MethodRun& run) {
  run.prompt(61, 64, 1, 60);  // all but the instruction
  EXPECT_EQ(run.done, 60);
  std::vector<std::vector<int64_t>> kept;
  for (int layer = 0; layer < shape.layers; ++layer) {
    kept.push_back(tokens_of(run.store, layer, 0));
    EXPECT_EQ(kept.back().size(), 13u);
    EXPECT_EQ(kept.back().back(), 59);
    EXPECT_EQ(tokens_of(run.store, layer, 1), kept.back());
  }
  return kept;
}

TEST(CitrusOfTokens, KeepsItselfAndWhatItAttendsToMost) {
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto citrus = MethodSpec::parse("citrus:cache=standard,k=12,chunk=1").make(shape);
  MethodRun run(shape, *citrus, DType::F32, 61);
  const auto kept = kept_token_by_token(shape, run);
  for (int layer = 0; layer < 2; ++layer) {
    std::vector<int64_t> list;
    for (int64_t token = 0; token < 60; ++token) {
      std::vector<PlacedToken> keys;  // at their places in the list, followed by the newest
      for (const int64_t held : list) keys.push_back({held, std::ssize(keys)});
      keys.push_back({token, std::ssize(keys)});
      std::vector<double> paid(list.size());
      for (int head = 0; head < shape.heads; ++head) {
        const auto p = probabilities(shape, layer, run.inputs[static_cast<size_t>(layer)], head,
                                     keys.back(), keys);
        for (size_t j = 0; j < paid.size(); ++j) paid[j] += p[j];
      }
      std::vector<int64_t> left;
      for (const int64_t i : best_by_definition(paid, 12)) {
        left.push_back(list[static_cast<size_t>(i)]);
      }
      left.push_back(token);
      list = left;
    }
    EXPECT_EQ(kept[static_cast<size_t>(layer)], list);
  }
}

/// Without rotation a key's position does not matter. With keys along their own queries TOVA also
/// keeps the newest.
TEST(CitrusOfTokens, KeepsWhatTovaKeepsWhereTheNewestRanks) {
  ModelShape shape = small_shape(2, 2, 2, 32);
  std::fill(shape.rope.inverse_frequency.begin(), shape.rope.inverse_frequency.end(), 0.0);
  const auto citrus = MethodSpec::parse("citrus:cache=standard,k=12,chunk=1").make(shape);
  const auto tova = MethodSpec::parse("tova:capacity=13,stride=1").make(shape);
  MethodRun run(shape, *citrus, DType::F32, 61), other(shape, *tova, DType::F32, 61);
  for (MethodRun* each : {&run, &other}) {
    for (LayerInputs& in : each->inputs) {
      for (size_t i = 0; i < in.k.size(); ++i) {  // [tokens, 2, 32] of q [tokens, 4, 32]
        const size_t first = i / 32 * 64 + i % 32;
        in.k[i] = in.q[first] + in.q[first + 32];
      }
    }
  }
  const auto kept = kept_token_by_token(shape, run);
  other.prompt(60, 64);
  for (int layer = 0; layer < 2; ++layer) {
    EXPECT_EQ(kept[static_cast<size_t>(layer)], tokens_of(other.store, layer, 0));
  }
}

}  // namespace
}  // namespace longhaul
