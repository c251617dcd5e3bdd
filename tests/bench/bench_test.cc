#include <gtest/gtest.h>

#include "base/system_info.h"
#include "bench/device_peak.h"
#include "bench/library_gemm.h"
#include "bench/machine_peak.h"
#include "bench/model_work.h"
#include "bench/speed_bench.h"
#include "bench/spread.h"
#include "ops/attention/causal_pairs.h"
#include "ops/fake_device.h"

namespace longhaul {
namespace {

TEST(Spread, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(spread_of({3, 1, 2}).median, 2);
  EXPECT_EQ(spread_of({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(spread_of({4, 1, 2, 3}).min, 1);
  EXPECT_EQ(spread_of({4, 1, 2, 3}).max, 4);
  EXPECT_EQ(spread_of({}).median, 0);
}

TEST(ModelWork, CountsPairsAsALoopDoes) {
  for (const int64_t window : {0, 1, 5, 100}) {
    ModelShape shape;
    shape.layers = 2;
    shape.window = {0, window};
    for (int64_t begin = 0; begin < 12; ++begin) {
      for (int64_t rows = 0; rows < 12; ++rows) {
        int64_t pairs = 0;
        for (int64_t t = begin; t < begin + rows; ++t) {
          pairs += t + 1 + (window > 0 ? std::min(t + 1, window) : t + 1);
        }
        EXPECT_EQ(dense_pairs(shape.window, begin, rows), pairs);
      }
    }
  }
}

TEST(ModelWork, CountsNanosWeights) {
  const auto engine = Engine::open(LONGHAUL_MODELS "/nano");
  const ModelWork work = work_of(engine->model());
  // q and output: 384 x 384; k and v: 192 x 384; gate, up and down: 1024 x 384
  const int64_t layer = 2 * 384 * 384 + 2 * 192 * 384 + 3 * 1024 * 384;
  EXPECT_EQ(work.layer_weights, 12 * layer);
  EXPECT_EQ(work.head_weights, 4096 * 384);
  EXPECT_EQ(work.weight_bytes, static_cast<size_t>(2 * (12 * layer + 4096 * 384)));
  EXPECT_EQ(prefill_flops(engine->model(), 0, 1),
            2.0 * (12 * layer + 4096 * 384) + 4.0 * 64 * 6 * 12);
}

TEST(SpeedBench, DepthsAreReachedInAnyOrderAndBytesAdd) {
  const auto engine = Engine::open(LONGHAUL_MODELS "/nano");
  const auto speeds = bench_decode(engine, SessionOptions{}, {130, 0, 64, 64}, 3, 2, nullptr);
  ASSERT_EQ(speeds.size(), 3);
  EXPECT_EQ(speeds[0].depth, 0);
  EXPECT_EQ(speeds[2].depth, 130);
  const size_t per_token = size_t{12} * 2 * 3 * 64 * 2;
  for (const DecodeSpeed& s : speeds) {
    EXPECT_GT(s.tokens_per_second.min, 0);
    EXPECT_EQ(s.bytes_per_token, work_of(engine->model()).weight_bytes +
                                     static_cast<size_t>(s.depth + s.steps) * per_token);
  }
}

TEST(SpeedBench, APromptThatWasReadIsDecodedFrom) {
  const auto engine = Engine::open(LONGHAUL_MODELS "/nano");
  DecodeSpeed decode{.depth = 100, .steps = 3};
  const PrefillSpeed prefill = bench_prefill(engine, SessionOptions{}, 100, 2, nullptr, &decode);
  EXPECT_GT(prefill.tokens_per_second.min, 0);
  EXPECT_GT(decode.tokens_per_second.min, 0);
  const size_t per_token = size_t{12} * 2 * 3 * 64 * 2;
  EXPECT_EQ(decode.bytes_per_token, work_of(engine->model()).weight_bytes + 103 * per_token);
}

TEST(SpeedBench, AMethodIsNotChargedWithTheMemoryOfTheOneBefore) {
  const auto engine = Engine::open(LONGHAUL_MODELS "/nano");
  if (!PeakResident().bytes()) return;  // the system has no such counter
  SessionOptions dense;
  dense.kv_type = DType::F32;
  dense.chunk = 128;
  SessionOptions streaming = dense;
  streaming.attention = MethodSpec::parse("streamingllm:recent=64");
  DecodeSpeed dense_decode{.depth = 3000, .steps = 2}, streaming_decode = dense_decode;
  const PrefillSpeed first = bench_prefill(engine, dense, 3000, 1, nullptr, &dense_decode);
  const PrefillSpeed second = bench_prefill(engine, streaming, 3000, 1, nullptr, &streaming_decode);
  ASSERT_GT(first.kv_bytes, second.kv_bytes + (size_t{32} << 20));
  const size_t half = (first.kv_bytes - second.kv_bytes) / 2;
  EXPECT_LT(*second.peak_bytes + half, *first.peak_bytes);
  EXPECT_LT(*streaming_decode.peak_bytes + half, *dense_decode.peak_bytes);
  EXPECT_GT(*first.peak_bytes, first.kv_bytes);
}

TEST(SpeedBench, CancelledRunsGiveNothing) {
  const auto engine = Engine::open(LONGHAUL_MODELS "/nano");
  CancelFlag cancel;
  cancel.request();
  EXPECT_EQ(bench_prefill(engine, SessionOptions{}, 100, 2, &cancel).tokens_per_second.max, 0);
  EXPECT_TRUE(bench_decode(engine, SessionOptions{}, {0}, 3, 2, &cancel).empty());
}

// Operations or bytes per second. The smallest product, 64 x 64 x 64, may wait for a scheduler's
// slice (8 ms were seen, 6.5e7 operations per second). A rate that is wrong by a unit is below
// this.
constexpr double kSlowest = 1e6;

TEST(MachinePeak, IsMeasured) {
  const auto engine = Engine::open(LONGHAUL_MODELS "/nano");
  const MachinePeak peak = measure_machine(engine->model(), Compute::kBest, size_t{8} << 20,
                                           {.rows = 64, .large = 256, .seconds = 0.02});
  ASSERT_FALSE(peak.gemms.empty());
  for (const GemmPeak& g : peak.gemms) {
    EXPECT_GT(g.f32, kSlowest);
    EXPECT_GT(g.engine, kSlowest);
    EXPECT_GE(peak.best(false), g.f32);
    EXPECT_GE(peak.best(true), std::max({g.f32, g.bf16, g.engine}));
  }
  EXPECT_GT(peak.memory_bytes_per_second, kSlowest);
}

TEST(MachinePeak, OfADeviceIsWhatItsOwnOperationsReach) {
  const auto engine = Engine::open(LONGHAUL_MODELS "/nano");
  const MachinePeak peak =
      measure_device(testing_support::fake_queue(), engine->model(), Compute::kBest,
                     {.rows = 16, .large = 64, .copied_bytes = 1 << 20, .seconds = 0});
  ASSERT_EQ(peak.gemms.size(), 4);  // a large product, q, gate and down
  EXPECT_EQ(peak.gemms[0].shape.n, 64);
  EXPECT_EQ(peak.gemms[2].shape.n, 1024);
  for (const GemmPeak& g : peak.gemms) {
    EXPECT_EQ(g.shape.m, 16);
    EXPECT_GT(g.engine, kSlowest);
    EXPECT_GE(peak.best(true), g.engine);
  }
  EXPECT_GT(peak.memory_bytes_per_second, kSlowest);
}

}  // namespace
}  // namespace longhaul
