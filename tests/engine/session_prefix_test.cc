// The beginning of a prompt, read once for several methods.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "engine/generate.h"
#include "engine/session.h"

namespace longhaul {
namespace {

std::shared_ptr<const Engine> nano_with_prefixes() {
  static const auto engine = Engine::open(std::filesystem::path(LONGHAUL_MODELS) / "nano");
  return engine;
}

SessionOptions with(std::string_view method) {
  SessionOptions options;
  options.attention = MethodSpec::parse(method);
  options.kv_type = DType::F32;
  options.compute = Compute::kF32;
  return options;
}

std::vector<int32_t> prompt(size_t tokens) {
  std::vector<int32_t> ids;
  uint32_t state = 7;
  while (ids.size() < tokens) {
    state = state * 1664525u + 1013904223u;
    ids.push_back(static_cast<int32_t>(300 + (state >> 16) % 3000));
  }
  return ids;
}

float farthest(std::span<const float> a, std::span<const float> b) {
  float most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

class SharedPrefix : public testing::TestWithParam<const char*> {};

TEST_P(SharedPrefix, GoesOnAsIfItHadReadAll) {
  const std::vector<int32_t> ids = prompt(300);
  Session dense(nano_with_prefixes(), with("dense"));
  dense.prefill(ids);
  const ContextCopy copy = dense.copy_context();

  Session alone(nano_with_prefixes(), with(GetParam()));
  alone.prefill(ids);
  Session shared(nano_with_prefixes(), with(GetParam()));
  const int64_t taken = shared.begin_with(copy, ids);
  ASSERT_GT(taken, 200);
  ASSERT_LT(taken, 300);
  EXPECT_EQ(static_cast<int64_t>(shared.tokens().size()), taken);
  shared.prefill(std::span(ids).subspan(static_cast<size_t>(taken)));

  EXPECT_LT(farthest(shared.logits(), alone.logits()), 2e-3f);
  EXPECT_EQ(shared.store().live_rows(), alone.store().live_rows());
  EXPECT_DOUBLE_EQ(shared.report().pairs_share, alone.report().pairs_share);
  for (const int32_t next : {500, 600, 700}) {
    shared.decode(next);
    alone.decode(next);
    EXPECT_LT(farthest(shared.logits(), alone.logits()), 2e-3f);
  }
  // Sessions that continue from the copy do not change it.
  EXPECT_EQ(copy.stores.front().length(0, 0), 300);
  dense.decode(500);
  EXPECT_EQ(copy.stores.front().length(0, 0), 300);
}

INSTANTIATE_TEST_SUITE_P(Methods, SharedPrefix,
                         testing::Values("dense", "snapkv:capacity=64,window=16",
                                         "pyramidkv:capacity=64,window=16"));

TEST(SharedPrefix, TakesOnlyWhatIsAlike) {
  const std::vector<int32_t> ids = prompt(200);
  Session dense(nano_with_prefixes(), with("dense"));
  dense.prefill(ids);
  const ContextCopy copy = dense.copy_context();
  std::vector<int32_t> other = ids;
  other[120] += 1;
  Session session(nano_with_prefixes(), with("dense"));
  EXPECT_EQ(session.begin_with(copy, other), 120);
  Session same(nano_with_prefixes(), with("dense"));
  EXPECT_EQ(same.begin_with(copy, ids), 199);  // logits require at least one token to read
}

TEST(SharedPrefix, MethodsThatReadOtherwiseTakeNothing) {
  const std::vector<int32_t> ids = prompt(200);
  Session dense(nano_with_prefixes(), with("dense"));
  dense.prefill(ids);
  const ContextCopy copy = dense.copy_context();
  for (const char* method :
       {"streamingllm:recent=64", "snapkv:capacity=64,window=16,per=query_head", "h2o",
        "tova:capacity=64"}) {
    Session session(nano_with_prefixes(), with(method));
    EXPECT_EQ(session.begin_with(copy, ids), 0) << method;
    EXPECT_TRUE(session.tokens().empty());
  }
  SessionOptions half = with("dense");
  half.kv_type = DType::BF16;
  Session session(nano_with_prefixes(), half);
  EXPECT_EQ(session.begin_with(copy, ids), 0);
}

}  // namespace
}  // namespace longhaul
