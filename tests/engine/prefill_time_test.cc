// The remaining time, with a simulated clock.

#include "engine/prefill_time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace longhaul {
namespace {

/// A machine whose token at depth d takes `rest` seconds outside attention and `attention(d)` in
/// it.
struct Machine {
  double rest = 1e-4;
  std::function<double(double depth)> attention;
  double noise = 0;  ///< relative variation of passes, alternately slower and faster

  double pass(int64_t depth, int64_t count, double& in_attention, int number) const {
    in_attention = 0;
    for (int64_t i = 0; i < count; ++i) in_attention += attention(static_cast<double>(depth + i));
    const double factor = 1 + noise * ((number * 7 % 5) - 2) / 2.0;
    in_attention *= factor;
    return in_attention + factor * rest * static_cast<double>(count);
  }
};

/// Largest error of the total time relative to it, from a tenth of the way on.
double worst_error(const Machine& machine, int64_t begin, int64_t total, int64_t chunk) {
  struct Told {
    double share, seconds, left;
  };
  PrefillTime time(begin);
  std::vector<Told> told;
  double seconds = 0, attention = 0;
  int number = 0;
  for (int64_t done = 0; done < total; done += chunk, ++number) {
    const int64_t count = std::min(chunk, total - done);
    double in_attention = 0;
    const double all = machine.pass(begin + done, count, in_attention, number);
    constexpr int kLayers = 12;
    for (int layer = 1; layer <= kLayers; ++layer) {
      const double share = static_cast<double>(layer) / kLayers;
      time.add(done, count, share, seconds + share * all, attention + share * in_attention);
      told.push_back({(static_cast<double>(done) + share * static_cast<double>(count)) /
                          static_cast<double>(total),
                      seconds + share * all, time.left(total)});
    }
    seconds += all;
    attention += in_attention;
  }
  double worst = 0;
  for (const Told& t : told) {
    if (t.share >= 0.1) worst = std::max(worst, std::abs(t.seconds + t.left - seconds) / seconds);
  }
  EXPECT_EQ(told.back().left, 0);
  return worst;
}

TEST(PrefillTime, DenseAttentionAtEveryLength) {
  const Machine machine{.attention = [](double depth) { return 5e-8 * (depth + 64); }};
  for (const int64_t total : {500, 2'000, 8'192, 32'768, 131'072, 500'000}) {
    EXPECT_LT(worst_error(machine, 0, total, 1024), 0.04) << total;
    EXPECT_LT(worst_error(machine, 50'000, total, 1024), 0.02) << total;
  }
}

TEST(PrefillTime, KernelsWithoutTilesAndAFirstPassThatIsSlower) {
  const Machine no_tiles{.attention = [](double depth) { return 5e-8 * depth; }};
  for (const int64_t total : {500, 2'000, 8'192, 32'768, 131'072}) {
    EXPECT_LT(worst_error(no_tiles, 0, total, 1024), 0.1) << total;
  }
  PrefillTime time(0);
  time.add(0, 1024, 1, 0.3, 0);  // 0.1 of it for new memory
  time.add(1024, 1024, 1, 0.5, 0);
  time.add(2048, 1024, 1, 0.7, 0);
  EXPECT_NEAR(time.left(8192), 1.0, 1e-9);
}

TEST(PrefillTime, LinearExtrapolationWouldBeFarOff) {
  // Linear extrapolation of 32,768 tokens after a tenth: the time so far times nine.
  const double early = 3277 * 1e-4 + 5e-8 * 3277 * 3277 / 2;
  const double all = 32768 * 1e-4 + 5e-8 * 32768.0 * 32768 / 2;
  EXPECT_LT(10 * early, 0.3 * all);
}

TEST(PrefillTime, PassesThatAreNotAlikeAndAttentionWithACostOfItsOwn) {
  const Machine machine{.attention = [](double depth) { return 4e-6 + 5e-8 * depth; },
                        .noise = 0.05};
  for (const int64_t total : {8'192, 32'768, 131'072}) {
    EXPECT_LT(worst_error(machine, 0, total, 1024), 0.15) << total;
  }
}

TEST(PrefillTime, AWindowMakesTheLineLevel) {
  const Machine machine{.attention = [](double depth) { return 5e-8 * std::min(depth, 4096.0); }};
  EXPECT_LT(worst_error(machine, 0, 131'072, 1024), 0.15);
  EXPECT_LT(worst_error(machine, 0, 500'000, 1024), 0.05);
}

TEST(PrefillTime, NothingIsSaidBeforeAnythingIsRead) { EXPECT_EQ(PrefillTime(0).left(1000), 0); }

/// The first pass is wide open in a small context, and later tokens see no more than it did.
TEST(PrefillTime, TheFirstForecastRegardsHowFarTheMethodSees) {
  constexpr int64_t kReach = 2048, kTotal = 131'072, kChunk = 1024;
  const auto attention = [](double depth) {
    return 5e-8 * (std::min(depth, static_cast<double>(kReach)) + 64);
  };
  const Machine machine{.attention = attention};
  double in_attention = 0, all = 0, ignored = 0;
  const double first = machine.pass(0, kChunk, in_attention, 0);
  for (int64_t done = 0; done < kTotal; done += kChunk) {
    all += machine.pass(done, kChunk, ignored, 0);
  }
  PrefillTime near(0, kReach), far(0);
  for (PrefillTime* time : {&near, &far}) time->add(0, kChunk, 1, first, in_attention);
  EXPECT_NEAR(near.left(kTotal) / (all - first), 1, 0.05);
  EXPECT_GT(far.left(kTotal) / (all - first), 5) << "every token is taken to see all earlier ones";
}

}  // namespace
}  // namespace longhaul
