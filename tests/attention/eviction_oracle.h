#pragma once
// Reference for eviction methods: probabilities in double precision over any kept tokens at any
// positions, and the tokens that a list holds.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "attention/method_run.h"
#include "ops/best_by_definition.h"

namespace longhaul::testing_support {

/// A token and the position at which its key is rotated.
struct PlacedToken {
  int64_t token;
  int64_t position;
};

inline std::vector<double> rotated_row(const ModelShape& shape, const std::vector<float>& x,
                                       int64_t token, int heads, int head, int64_t position) {
  const int dim = shape.head_dim, half = dim / 2;
  const float* raw = x.data() + (token * heads + head) * dim;
  std::vector<double> y(static_cast<size_t>(dim));
  for (int t = 0; t < half; ++t) {
    const double angle =
        static_cast<double>(position) * shape.rope.inverse_frequency[static_cast<size_t>(t)];
    y[static_cast<size_t>(t)] = raw[t] * std::cos(angle) - raw[t + half] * std::sin(angle);
    y[static_cast<size_t>(t + half)] = raw[t + half] * std::cos(angle) + raw[t] * std::sin(angle);
  }
  return y;
}

/// Softmax of one query row and head over `keys`, in their order.
inline std::vector<double> probabilities(const ModelShape& shape, int layer, const LayerInputs& in,
                                         int head, PlacedToken row,
                                         const std::vector<PlacedToken>& keys) {
  const int kv_heads = shape.kv_heads[static_cast<size_t>(layer)];
  const int kv_head = head / (shape.heads / kv_heads);
  const auto query = rotated_row(shape, in.q, row.token, shape.heads, head, row.position);
  std::vector<double> p;
  for (const PlacedToken& key : keys) {
    const auto k = rotated_row(shape, in.k, key.token, kv_heads, kv_head, key.position);
    p.push_back(
        std::exp(shape.scale * std::inner_product(query.begin(), query.end(), k.begin(), 0.0)));
  }
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

/// Tokens 0 .. count - 1 at their absolute positions.
inline std::vector<PlacedToken> tokens_in_place(int64_t count) {
  std::vector<PlacedToken> tokens;
  for (int64_t i = 0; i < count; ++i) tokens.push_back({i, i});
  return tokens;
}

/// The tokens that a list holds, in order.
inline std::vector<int64_t> tokens_of(const KvStore& store, int layer, int list) {
  std::vector<int64_t> tokens;
  for (int64_t row = 0; row < store.length(layer, list); ++row) {
    tokens.push_back(store.token_of(layer, list, row));
  }
  return tokens;
}

/// Checks that all outputs so far equal dense attention in every layer.
inline void expect_dense(const MethodRun& run, double tolerance = 2e-5) {
  for (int layer = 0; layer < run.shape.layers; ++layer) {
    const size_t l = static_cast<size_t>(layer);
    const auto want = attention_by_definition(run.shape, layer, run.inputs[l], run.done,
                                              [](int64_t, int64_t) { return true; });
    EXPECT_LT(largest_difference(run.out[l], want), tolerance) << "layer " << layer;
  }
}

/// Checks that `spec`, a method with a budget that covers the run, equals dense attention. Covers
/// every group size, chunk size and length, over two prompts each followed by generated tokens.
inline void expect_dense_when_covering(const char* spec) {
  SCOPED_TRACE(spec);
  const auto check = [&](int group, int64_t prompt, int chunk) {
    SCOPED_TRACE(testing::Message()
                 << "group " << group << " prompt " << prompt << " chunk " << chunk);
    const ModelShape shape = small_shape(2, 2, group, 32);
    const auto method = MethodSpec::parse(spec).make(shape);
    MethodRun run(shape, *method, DType::F32, 2 * prompt + 6);
    run.prompt(prompt, chunk);
    run.decode(3);
    run.prompt(prompt, chunk);
    run.decode(3);
    expect_dense(run);
  };
  for (const int group : {1, 2, 3, 8}) check(group, 45, 32);
  for (const int chunk : {1, 7, 16, 100}) check(3, 40, chunk);
  for (const int64_t prompt : {1, 2, 31, 33, 65}) check(2, prompt, 20);
}

}  // namespace longhaul::testing_support
