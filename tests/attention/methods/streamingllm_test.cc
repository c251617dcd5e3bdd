#include <gtest/gtest.h>

#include <set>

#include "attention/attention_by_distance.h"

namespace longhaul {
namespace {

using testing_support::expect_by_distance;
using testing_support::largest_difference;
using testing_support::MethodRun;
using testing_support::small_shape;

/// The tokens kept when a pass begins at `begin`: sinks and recent tokens. Their order determines
/// their positions.
std::vector<int64_t> kept_list(int64_t begin, int64_t sink, int64_t recent) {
  std::vector<int64_t> kept;
  for (int64_t j = 0; j < begin; ++j) {
    if (j < sink || j >= begin - recent) kept.push_back(j);
  }
  return kept;
}

/// Distance within the kept list, after which the pass of row i follows.
std::optional<int64_t> kept_distance(int64_t begin, int64_t i, int64_t j, int64_t sink,
                                     int64_t recent) {
  if (j >= begin) return i - j;
  const auto kept = kept_list(begin, sink, recent);
  const auto found = std::find(kept.begin(), kept.end(), j);
  if (found == kept.end()) return std::nullopt;
  return static_cast<int64_t>(kept.size()) + i - begin - (found - kept.begin());
}

std::unique_ptr<AttentionDriver> make_streamingllm(int sink, int recent, const ModelShape& shape) {
  const std::string text =
      "streamingllm:sink=" + std::to_string(sink) + ",recent=" + std::to_string(recent);
  return MethodSpec::parse(text).make(shape);
}

TEST(StreamingLlm, TokenByTokenKeepsSinksAndRecentTokensAtTheirIndexInTheList) {
  // The specification's example: after tokens 0..9, the next sees 0 1 2 3 6 7 8 9 at 0..7.
  EXPECT_EQ(kept_list(10, 4, 4), (std::vector<int64_t>{0, 1, 2, 3, 6, 7, 8, 9}));
  EXPECT_EQ(kept_distance(10, 10, 6, 4, 4), 4);  // token 6 has position 4, the row has 8
  const ModelShape shape = small_shape(2, 2, 2, 32);
  const auto method = make_streamingllm(4, 4, shape);
  MethodRun run(shape, *method, DType::F32, 150);
  run.prompt(140, 1);
  run.decode(10);
  expect_by_distance(run,
                     [](int, int, int64_t i, int64_t j) { return kept_distance(i, i, j, 4, 4); });
}

TEST(StreamingLlm, RowsOfAPassSeeTheListBeforeItAndThePassUpToThemselves) {
  const ModelShape shape = small_shape(1, 2, 3, 32);
  for (const int chunk : {7, 50, 64}) {
    const auto method = make_streamingllm(5, 33, shape);
    MethodRun run(shape, *method, DType::F32, 400);
    run.prompt(389, chunk);
    run.decode(11);
    std::vector<int64_t> begins;  // begin of the pass of each row
    for (const Pass& pass : method->prepare({0, 389, 0, chunk})) {
      begins.resize(static_cast<size_t>(pass.begin + pass.count), pass.begin);
    }
    for (int64_t i = 389; i < 400; ++i) begins.push_back(i);
    expect_by_distance(run, [&](int, int, int64_t i, int64_t j) {
      return kept_distance(begins[static_cast<size_t>(i)], i, j, 5, 33);
    });
  }
}

TEST(StreamingLlm, TheStoreStaysWithinAPageOfTheBudget) {
  const ModelShape shape = small_shape(2, 1, 2, 32);
  const auto method = make_streamingllm(4, 100, shape);
  MethodRun run(shape, *method, DType::BF16, 3000);
  run.prompt(1000, 128);
  const size_t bytes = run.store.bytes();
  for (int i = 0; i < 2000; ++i) {
    run.decode(1);
    ASSERT_LT(run.store.longest(), 4 + 100 + run.store.layout().page_rows);
    ASSERT_GE(run.store.longest(), 4 + 100);
  }
  EXPECT_LT(run.store.bytes(), bytes + bytes / 2);
  // Checks which tokens were kept.
  const int64_t length = run.store.length(0, 0);
  for (int64_t row = 0; row < 4; ++row) EXPECT_EQ(run.store.token_of(0, 0, row), row);
  for (int64_t back = 1; back <= 100; ++back) {
    EXPECT_EQ(run.store.token_of(0, 0, length - back), 3000 - back);
  }
}

TEST(StreamingLlm, ForecastIsBoundedHoweverLongTheContext) {
  const ModelShape shape = small_shape(2, 1, 2, 32);
  const auto method = make_streamingllm(4, 100, shape);
  const KvLayout layout = method->layout(shape, DType::BF16);
  EXPECT_EQ(method->most_kv_bytes(layout, 1 << 20, 64), method->most_kv_bytes(layout, 1000, 64));
  EXPECT_EQ(method->most_kv_bytes(layout, 50, 64), layout.bytes_for(50));
}

TEST(StreamingLlm, WorksWithoutSinksAndWithALayersOwnWindow) {
  ModelShape shape = small_shape(2, 1, 2, 32);
  shape.window = {0, 9};
  const auto method = make_streamingllm(0, 20, shape);
  MethodRun run(shape, *method, DType::F32, 120);
  run.prompt(100, 1);
  run.decode(20);
  expect_by_distance(run, [](int layer, int, int64_t i, int64_t j) {
    const auto apart = kept_distance(i, i, j, 0, 20);
    return apart && layer == 1 && *apart >= 9 ? std::nullopt : apart;
  });
}

}  // namespace
}  // namespace longhaul
