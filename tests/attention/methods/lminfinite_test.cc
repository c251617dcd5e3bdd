#include <gtest/gtest.h>

#include "attention/attention_by_distance.h"

namespace longhaul {
namespace {

using testing_support::expect_by_distance;
using testing_support::MethodRun;
using testing_support::small_shape;

std::unique_ptr<AttentionDriver> make_lminfinite(int global, int local, int limit,
                                                 const ModelShape& shape) {
  return MethodSpec::parse("lminfinite:global=" + std::to_string(global) +
                           ",local=" + std::to_string(local) + ",limit=" + std::to_string(limit))
      .make(shape);
}

TEST(LmInfinite, NearKeysStandAtTheirDistanceFarOnesAtTheLimit) {
  const ModelShape shape = small_shape(2, 2, 3, 32);
  for (const int chunk : {1, 29, 64, 256}) {
    const auto method = make_lminfinite(6, 40, 30, shape);
    MethodRun run(shape, *method, DType::F32, 330);
    run.prompt(311, chunk);
    run.decode(19);
    // Each key counts once: a first token within the local part is only near.
    expect_by_distance(run, [](int, int, int64_t i, int64_t j) -> std::optional<int64_t> {
      if (i - j < 40) return i - j;
      if (j < 6) return 30;
      return std::nullopt;
    });
  }
}

TEST(LmInfinite, BeforeTheLimitIsReachedTheNewestRowIsTheCap) {
  const ModelShape shape = small_shape(1, 1, 2, 32);
  const auto method = make_lminfinite(6, 40, 90, shape);
  MethodRun run(shape, *method, DType::F32, 150);
  run.prompt(140, 1);
  run.decode(10);
  expect_by_distance(run, [](int, int, int64_t i, int64_t j) -> std::optional<int64_t> {
    if (i - j < 40) return i - j;
    if (j < 6) return std::min<int64_t>(90, i);
    return std::nullopt;
  });
}

TEST(LmInfinite, AFarKeyWeighsTheSameForEveryLaterRow) {
  // One far key and one near key: with equal queries and equal near distances, rows beyond the
  // local part get equal outputs.
  const ModelShape shape = small_shape(1, 1, 1, 32);
  const auto method = make_lminfinite(1, 1, 25, shape);
  MethodRun run(shape, *method, DType::F32, 60);
  auto& in = run.inputs[0];
  for (int64_t i = 1; i < 60; ++i) {
    std::copy_n(in.q.begin(), 32, in.q.begin() + i * 32);
    if (i > 1) std::copy_n(in.k.begin() + 32, 32, in.k.begin() + i * 32);
    if (i > 1) std::copy_n(in.v.begin() + 32, 32, in.v.begin() + i * 32);
  }
  run.prompt(60, 1);
  for (int64_t i = 26; i < 60; ++i) {
    for (int t = 0; t < 32; ++t) {
      EXPECT_NEAR(run.out[0][static_cast<size_t>(i * 32 + t)],
                  run.out[0][static_cast<size_t>(25 * 32 + t)], 1e-5);
    }
  }
  float change = 0;  // before the limit the output changes
  for (int t = 0; t < 32; ++t) {
    change = std::max(change, std::abs(run.out[0][static_cast<size_t>(25 * 32 + t)] -
                                       run.out[0][static_cast<size_t>(3 * 32 + t)]));
  }
  EXPECT_GT(change, 1e-3f);
}

TEST(LmInfinite, TheStoreStaysWithinAPageOfTheBudget) {
  const ModelShape shape = small_shape(1, 2, 2, 32);
  const auto method = make_lminfinite(10, 90, 90, shape);
  MethodRun run(shape, *method, DType::BF16, 1500);
  run.prompt(900, 100);
  for (int i = 0; i < 600; ++i) {
    run.decode(1);
    ASSERT_LT(run.store.longest(), 10 + 90 + run.store.layout().page_rows);
  }
  const KvLayout& layout = run.store.layout();
  EXPECT_EQ(method->most_kv_bytes(layout, 1 << 20, 64), method->most_kv_bytes(layout, 1000, 64));
}

}  // namespace
}  // namespace longhaul
