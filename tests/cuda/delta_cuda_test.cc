// Gated delta nets on a GPU compared with the host: rows of single sequences around the borders of
// chunks and segments, decode rows of many sequences, and the gates of outputs. Products of 64 rows
// have bf16 operands; everything else is f32.

#include <cmath>

#include "on_device.h"
#include "ops/delta/delta_mix.h"
#include "ops/delta/sigmoid_gates.h"
#include "queued.h"

namespace longhaul::cuda {
namespace {

using Numbers = std::vector<float>;

constexpr DeltaShape kWide = {2, 4, 128, 128, 4, false}, kWideTiled = {2, 4, 128, 128, 4, true};
constexpr DeltaShape kSmall = {2, 4, 16, 32, 4, false}, kOdd = {1, 3, 24, 16, 3, true};

size_t count_of(int64_t count) { return static_cast<size_t>(count); }

/// Rows of a layer and its weights.
struct Layer {
  Layer(const DeltaShape& of, int64_t rows)
      : shape(of),
        qkv(random_floats(count_of(rows * of.channels()), 1)),
        gates(random_floats(count_of(rows * of.values()), 2)),
        beta(random_floats(count_of(rows * of.value_heads), 3)),
        alpha(random_floats(count_of(rows * of.value_heads), 4)),
        convolution(random_floats(count_of(of.kernel * of.channels()), 5, 0.5f)),
        dt_bias(random_floats(count_of(of.value_heads), 6)),
        rate(random_floats(count_of(of.value_heads), 7)),
        norm(random_floats(count_of(of.value_dim), 8)) {
    for (float& r : rate) r = -std::exp(r - 1);
  }
  /// The inputs after every array has passed through `place`.
  template <class Place>
  DeltaInputs in(Place&& place) const {
    return {place(qkv),     place(gates), place(beta), place(alpha), place(convolution),
            place(dt_bias), place(rate),  place(norm), 1e-5f};
  }

  DeltaShape shape;
  Numbers qkv, gates, beta, alpha, convolution, dt_bias, rate, norm;
};

/// Distance of `got` from `want`, relative to the length of `want`.
double distance(std::span<const float> got, std::span<const float> want) {
  double apart = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    apart += std::pow(double{got[i]} - want[i], 2);
    size += std::pow(double{want[i]}, 2);
  }
  return std::sqrt(apart / size);
}

/// A task by the number of its states.
struct NumberedTask {
  int64_t first, rows;
  size_t before, after;
};

class CudaDelta : public OnQueue {
 protected:
  struct Results {
    Numbers out;
    std::vector<Numbers> states;
  };

  static Results on_host(const Layer& layer, std::span<const NumberedTask> tasks, int64_t rows,
                         std::vector<Numbers> states) {
    Results results{Numbers(count_of(rows * layer.shape.values())), std::move(states)};
    std::vector<DeltaTask> all;
    for (const NumberedTask& task : tasks) {
      all.push_back({task.first, task.rows, std::span<const float>(results.states[task.before]),
                     std::span(results.states[task.after])});
    }
    Buffer<float> room;
    delta_mix(host_queue(), layer.shape,
              layer.in([](const Numbers& x) { return View<const float>(std::span(x)); }), all,
              std::span(results.out), room);
    return results;
  }

  Results on_gpu(const Layer& layer, std::span<const NumberedTask> tasks, int64_t rows,
                 const std::vector<Numbers>& states) {
    std::vector<View<float>> held;
    for (const Numbers& state : states) held.push_back(there(state));
    const View<float> out = there(Numbers(count_of(rows * layer.shape.values()), NAN));
    const DeltaInputs in = layer.in([&](const Numbers& x) { return View<const float>(there(x)); });
    std::vector<DeltaTask> all;
    for (const NumberedTask& task : tasks) {
      all.push_back({task.first, task.rows, held[task.before], held[task.after]});
    }
    Buffer<float> room;
    EXPECT_EQ(waits_in([&] { delta_mix(queue(), layer.shape, in, all, out, room); }), 0);
    Results results{here(out), {}};
    for (const View<float>& state : held) results.states.push_back(here(state));
    return results;
  }

  static std::vector<Numbers> random_states(const DeltaShape& shape, size_t count) {
    std::vector<Numbers> states;
    for (size_t i = 0; i < count; ++i) {
      states.push_back(random_floats(count_of(shape.state()), 20 + static_cast<uint32_t>(i), 0.3f));
    }
    return states;
  }

  /// `most`: of a row and of a state.
  void expect_alike(const DeltaShape& shape, std::span<const NumberedTask> tasks, int64_t rows,
                    size_t states, double most) {
    const Layer layer(shape, rows);
    const std::vector<Numbers> before = random_states(shape, states);
    const Results want = on_host(layer, tasks, rows, before);
    const Results got = on_gpu(layer, tasks, rows, before);
    const size_t width = count_of(shape.values());
    double worst = 0;
    for (size_t first = 0; first < want.out.size(); first += width) {
      const double apart = distance(std::span(got.out).subspan(first, width),
                                    std::span(want.out).subspan(first, width));
      ASSERT_LT(apart, most) << "row " << first / width << " of " << rows;
      worst = std::max(worst, apart);
    }
    RecordProperty("worst_row_of_" + std::to_string(rows), std::to_string(worst));
    const size_t history = count_of(shape.history());
    for (size_t i = 0; i < states; ++i) {
      const std::span<const float> a = got.states[i], b = want.states[i];
      EXPECT_EQ(Numbers(a.begin(), a.begin() + static_cast<ptrdiff_t>(history)),
                Numbers(b.begin(), b.begin() + static_cast<ptrdiff_t>(history)));
      EXPECT_LT(distance(a.subspan(history), b.subspan(history)), most) << "state " << i;
    }
  }
};

TEST_F(CudaDelta, RowsOfASequenceEqualTheHosts) {
  for (const DeltaShape& shape : {kWide, kWideTiled}) {
    for (const int64_t rows : {2, 5, 63, 64, 65, 150, 640}) {
      SCOPED_TRACE(rows);
      const NumberedTask apart[] = {{0, rows, 0, 1}}, in_place[] = {{0, rows, 0, 0}};
      expect_alike(shape, apart, rows, 2, 0.03);
      expect_alike(shape, in_place, rows, 1, 0.03);
    }
  }
}

/// More heads than a card has processors for, whose kernel has one stage of operands.
TEST_F(CudaDelta, ManyHeadsEqualTheHosts) {
  const NumberedTask apart[] = {{0, 200, 0, 1}};
  expect_alike({16, 48, 128, 128, 4, false}, apart, 200, 2, 0.03);
}

TEST_F(CudaDelta, SegmentsContinueEachOther) {
  const int64_t rows = 2 * kDeltaSegment + 70;
  const NumberedTask whole[] = {{0, rows, 0, 1}};
  expect_alike({1, 2, 128, 128, 4, false}, whole, rows, 2, 0.03);
}

TEST_F(CudaDelta, OtherSizesEqualTheHosts) {
  for (const DeltaShape& shape : {kSmall, kOdd}) {
    for (const int64_t rows : {1, 2, 3, 65}) {
      const NumberedTask apart[] = {{0, rows, 0, 1}}, in_place[] = {{0, rows, 0, 0}};
      expect_alike(shape, apart, rows, 2, 1e-4);
      expect_alike(shape, in_place, rows, 1, 1e-4);
    }
  }
  const NumberedTask whole[] = {{0, kDeltaSegment + 3, 0, 1}};
  expect_alike({1, 1, 16, 16, 2, false}, whole, kDeltaSegment + 3, 2, 1e-4);
}

TEST_F(CudaDelta, DecodeRowsOfManySequencesEqualTheHosts) {
  for (const DeltaShape& shape : {kWide, kWideTiled, kSmall}) {
    for (const int64_t rows : {1, 3, 64, 170}) {
      SCOPED_TRACE(rows);
      std::vector<NumberedTask> tasks;
      for (int64_t r = 0; r < rows; ++r)
        tasks.push_back({r, 1, count_of(2 * r), count_of(2 * r + 1)});
      expect_alike(shape, tasks, rows, count_of(2 * rows), 1e-4);
    }
  }
}

/// Passes that are computed together: some discarded ones, then rows that continue earlier ones.
TEST_F(CudaDelta, TasksContinueEarlierOnes) {
  const NumberedTask tasks[] = {{0, 1, 0, 1},   {1, 1, 1, 1},   {2, 1, 2, 3},   {3, 70, 3, 3},
                                {73, 1, 3, 4},  {74, 1, 4, 5},  {75, 1, 0, 6},  {76, 30, 1, 1},
                                {106, 1, 5, 7}, {107, 1, 7, 5}, {108, 1, 0, 5}, {109, 1, 5, 0},
                                {110, 1, 2, 5}, {111, 1, 3, 5}};
  for (const DeltaShape& shape : {kWide, kSmall}) expect_alike(shape, tasks, 112, 8, 0.03);
}

TEST_F(CudaDelta, StrongDecayForgetsWithoutOverflow) {
  Layer layer({1, 2, 128, 128, 4, false}, 200);
  layer.rate = {-60, -0.001f};
  const NumberedTask tasks[] = {{0, 200, 0, 1}};
  const std::vector<Numbers> before = random_states(layer.shape, 2);
  const Results got = on_gpu(layer, tasks, 200, before);
  EXPECT_LT(distance(got.out, on_host(layer, tasks, 200, before).out), 0.03);
}

TEST_F(CudaDelta, GatesEqualTheHosts) {
  for (const int64_t n : {1, 7, 64, 4099}) {
    const Numbers x = random_floats(count_of(3 * n), 1),
                  gate = random_floats(count_of(3 * n), 2, 3);
    Numbers times = x, sum = gate;
    const View<float> times_there = there(times), sum_there = there(sum);
    multiply_by_sigmoid(host_queue(), std::span(times), std::span(gate));
    add_gated(host_queue(), std::span(sum), std::span(x), std::span(gate).first(3));
    const View<const float> x_there = there(x), gate_there = there(gate);
    EXPECT_EQ(waits_in([&] {
                multiply_by_sigmoid(queue(), times_there, gate_there);
                add_gated(queue(), sum_there, x_there, gate_there.part(0, 3));
              }),
              0);
    expect_close(here(times_there), times, 1e-5, 1e-6);
    expect_close(here(sum_there), sum, 1e-5, 1e-6);
  }
}

}  // namespace
}  // namespace longhaul::cuda
