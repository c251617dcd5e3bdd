// Mamba-2 layers and gated short convolutions on a GPU compared with the host: rows of single
// sequences around the borders of what a kernel loads at a time, many sequences in one call, states
// in place and carried over calls. Products of chunks have bf16 operands; everything else is f32.

#include <algorithm>
#include <cmath>

#include "on_device.h"
#include "ops/ssm/short_convolution.h"
#include "ops/ssm/ssm_mix.h"
#include "queued.h"

namespace longhaul::cuda {
namespace {

using SsmNumbers = std::vector<float>;

size_t sized(int64_t count) { return static_cast<size_t>(count); }

/// Rows of a layer with time steps apart from the others, as devices have them, and its weights.
struct SsmCase {
  SsmCase(const SsmShape& of, int64_t count)
      : shape(of),
        rows(count),
        projected(random_floats(sized(count * (of.inner() + of.channels())), 1)),
        steps(random_floats(sized(count * of.heads), 2)),
        taps(random_floats(sized(of.kernel * of.channels()), 3, 0.5f)),
        bias(random_floats(sized(of.convolution_bias ? of.channels() : 0), 4, 0.3f)),
        dt_bias(random_floats(sized(of.heads), 5)),
        rate(random_floats(sized(of.heads), 6)),
        skip(random_floats(sized(of.heads), 7)),
        norm(random_floats(sized(of.norm == SsmNorm::kNone ? 0 : of.inner()), 8)) {
    for (float& r : rate) r = -std::exp(r);
  }
  /// The inputs after every array has passed through `place`.
  template <class Place>
  SsmInputs in(Place&& place) const {
    return {.projected = place(projected),
            .stride = shape.inner() + shape.channels(),
            .steps = place(steps),
            .step_stride = shape.heads,
            .convolution = place(taps),
            .convolution_bias = place(bias),
            .dt_bias = place(dt_bias),
            .rate = place(rate),
            .skip = place(skip),
            .norm = place(norm),
            .eps = 1e-5f};
  }

  SsmShape shape;
  int64_t rows;
  SsmNumbers projected, steps, taps, bias, dt_bias, rate, skip, norm;
};

/// A task by the number of its states.
struct NumberedRows {
  int64_t first, rows;
  size_t before, after;
};

/// Largest distances from the host's numbers, relative to their length: of a row, and of all
/// numbers.
struct MostApart {
  double row, all;
};
constexpr MostApart kRoundedSums = {1e-4, 1e-4};  ///< f32
/// Operands of chunks are bf16. The same arithmetic in numpy, of random layers of these shapes,
/// differs by at most 0.06 in a row, and by 0.003 in states.
constexpr MostApart kRoundedOperands = {0.1, 0.01};

void expect_near_rows(std::span<const float> got, std::span<const float> want, size_t width,
                      const MostApart& most) {
  ASSERT_EQ(got.size(), want.size());
  double all_apart = 0, all_size = 0;
  for (size_t first = 0; first < want.size(); first += width) {
    double apart = 0, size = 0;
    for (size_t i = first; i < first + width; ++i) {
      apart += std::pow(double{got[i]} - want[i], 2);
      size += std::pow(double{want[i]}, 2);
    }
    ASSERT_LT(std::sqrt(apart), most.row * std::sqrt(size)) << "row " << first / width;
    all_apart += apart;
    all_size += size;
  }
  EXPECT_LT(std::sqrt(all_apart), most.all * std::sqrt(all_size));
}

View<const float> on_the_host(const SsmNumbers& x) { return std::span(x); }

class CudaSsm : public OnQueue {
 protected:
  struct Results {
    SsmNumbers out;
    std::vector<SsmNumbers> states;
  };

  template <class State>
  static std::vector<RecurrentTask> tasks_of(std::span<const NumberedRows> tasks, State&& state) {
    std::vector<RecurrentTask> all;
    for (const NumberedRows& task : tasks) {
      all.push_back({task.first, task.rows, state(task.before), state(task.after)});
    }
    return all;
  }

  /// Runs mix(queue, place, tasks, out) on the host and on the GPU. Rows of the output have `width`
  /// numbers. The first `history` numbers of a state are inputs and must be equal.
  template <class Mix>
  void expect_alike(std::span<const NumberedRows> tasks, int64_t rows, size_t width,
                    int64_t state_numbers, int64_t history, size_t states, const MostApart& most,
                    Mix&& mix) {
    const int64_t out_numbers = rows * static_cast<int64_t>(width);
    Results want{SsmNumbers(sized(out_numbers)), {}};
    std::vector<View<float>> held;
    for (size_t i = 0; i < states; ++i) {
      want.states.push_back(
          random_floats(sized(state_numbers), 20 + static_cast<uint32_t>(i), 0.3f));
      held.push_back(there(want.states.back()));
    }
    mix(host_queue(), on_the_host,
        tasks_of(tasks, [&](size_t i) { return View<float>(std::span(want.states[i])); }),
        View<float>(std::span(want.out)));
    const View<float> out = there(SsmNumbers(sized(out_numbers), NAN));
    const auto bring = [&](const SsmNumbers& x) { return View<const float>(there(x)); };
    mix(queue(), bring, tasks_of(tasks, [&](size_t i) { return held[i]; }), out);
    expect_near_rows(here(out), want.out, width, most);
    for (size_t i = 0; i < states; ++i) {
      const SsmNumbers got = here(held[i]);
      const std::span<const float> now = got, then = want.states[i];
      const size_t inputs = sized(history), others = now.size() - inputs;
      ASSERT_TRUE(std::ranges::equal(now.first(inputs), then.first(inputs))) << "state " << i;
      if (others > 0) expect_near_rows(now.last(others), then.last(others), others, most);
    }
  }

  void expect_ssm(const SsmCase& layer, std::span<const NumberedRows> tasks, size_t states) {
    const SsmShape& s = layer.shape;
    const bool chunks = s.state >= 128 && std::ranges::any_of(tasks, [](const NumberedRows& task) {
                          return task.rows > 16;
                        });
    expect_alike(tasks, layer.rows, sized(s.inner()), s.numbers(), s.history(), states,
                 chunks ? kRoundedOperands : kRoundedSums,
                 [&](Queue& queue, auto&& place, const auto& all, View<float> out) {
                   const SsmInputs in = layer.in(place);
                   Buffer<float> room;
                   const auto run = [&] { ssm_mix(queue, s, in, all, out, room); };
                   if (queue.on_host()) return run();
                   EXPECT_EQ(waits_in(run), 0);
                 });
  }

  void expect_convolution(const GatedConvolutionShape& shape, std::span<const NumberedRows> tasks,
                          int64_t rows, size_t states) {
    const SsmNumbers in = random_floats(sized(rows * 3 * shape.width), 1),
                     taps = random_floats(sized(shape.kernel * shape.width), 2);
    expect_alike(tasks, rows, sized(shape.width), shape.state(), shape.state(), states,
                 kRoundedSums, [&](Queue& queue, auto&& place, const auto& all, View<float> out) {
                   const View<const float> x = place(in), weight = place(taps);
                   Buffer<float> room;
                   const auto run = [&] {
                     gated_convolution(queue, shape, x, weight, all, out, room);
                   };
                   if (queue.on_host()) return run();
                   EXPECT_EQ(waits_in(run), 0);
                 });
  }
};

/// Granite 4 H, Nemotron-H, Falcon-H1 and tiny models, with all norms.
std::vector<SsmShape> shapes_of_families() {
  return {{.heads = 6,
           .head_dim = 64,
           .state = 128,
           .groups = 1,
           .kernel = 4,
           .convolution_bias = true},
          {.heads = 4,
           .head_dim = 80,
           .state = 128,
           .groups = 2,
           .kernel = 4,
           .convolution_bias = true,
           .norm = SsmNorm::kAfterGate},
          {.heads = 3,
           .head_dim = 128,
           .state = 256,
           .groups = 1,
           .kernel = 4,
           .norm = SsmNorm::kNone,
           .gate_scale = 0.7f,
           .step_scale = 1.3f},
          {.heads = 6,
           .head_dim = 16,
           .state = 24,
           .groups = 2,
           .kernel = 3,
           .norm = SsmNorm::kBeforeGate},
          {.heads = 2, .head_dim = 32, .state = 64, .groups = 2, .kernel = 6}};
}

TEST_F(CudaSsm, RowsOfASequenceEqualTheHosts) {
  for (const SsmShape& shape : shapes_of_families()) {
    for (const int64_t rows : {1, 2, 8, 9, 16, 17, 33, 63, 64, 65, 100, 200}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, state " << shape.state);
      const SsmCase layer(shape, rows);
      const NumberedRows apart[] = {{0, rows, 0, 1}}, in_place[] = {{0, rows, 0, 0}};
      expect_ssm(layer, apart, 2);
      expect_ssm(layer, in_place, 1);
    }
  }
}

TEST_F(CudaSsm, ManySequencesEqualTheHosts) {
  for (SsmShape shape : shapes_of_families()) {
    shape.heads = shape.groups;
    for (const int64_t sequences : {3, 64, 130}) {  // a launch has at most 112
      SCOPED_TRACE(testing::Message() << sequences << " sequences, state " << shape.state);
      std::vector<NumberedRows> decode, ragged;  // some rows of tasks, and some chunks
      int64_t end = 0;
      for (int64_t i = 0; i < sequences; ++i) {
        decode.push_back({i, 1, sized(2 * i), sized(2 * i + 1)});
        const int64_t rows = 1 + i * 37 % 150;
        ragged.push_back({end, rows, sized(2 * i), sized(2 * i + 1)});
        end += rows;
      }
      expect_ssm(SsmCase(shape, sequences), decode, sized(2 * sequences));
      expect_ssm(SsmCase(shape, end), ragged, sized(2 * sequences));
    }
  }
}

/// Passes that are computed together: some discarded ones, then rows that continue earlier ones.
const NumberedRows kContinued[] = {{0, 1, 0, 1},   {1, 1, 1, 1},   {2, 1, 2, 3},   {3, 70, 3, 3},
                                   {73, 1, 3, 4},  {74, 1, 4, 5},  {75, 1, 0, 6},  {76, 30, 1, 1},
                                   {106, 1, 5, 7}, {107, 1, 7, 5}, {108, 1, 0, 5}, {109, 1, 5, 0},
                                   {110, 1, 2, 5}, {111, 1, 3, 5}};

TEST_F(CudaSsm, TasksContinueEarlierOnes) {
  for (const SsmShape& shape : shapes_of_families()) expect_ssm({shape, 112}, kContinued, 8);
}

TEST_F(CudaSsm, StrongDecayForgetsWithoutOverflow) {
  SsmCase layer({.heads = 2, .head_dim = 16, .state = 16, .groups = 1, .kernel = 2}, 130);
  layer.rate = {-60, -1e-6f};
  layer.steps[7] = 90;
  const NumberedRows tasks[] = {{0, 130, 0, 1}};
  expect_ssm(layer, tasks, 2);
}

/// A state whose size is not a multiple of four is computed on the host.
TEST_F(CudaSsm, OtherSizesAreComputedOnTheHost) {
  const SsmCase layer({.heads = 2, .head_dim = 16, .state = 6, .groups = 1, .kernel = 4}, 20);
  SsmNumbers state = random_floats(sized(layer.shape.numbers()), 20, 0.3f), want(20 * 32);
  const View<float> held = there(state), out = there(SsmNumbers(20 * 32, NAN));
  Buffer<float> room;
  const View<float> here_state = std::span(state);
  const RecurrentTask on_host = {0, 20, here_state, here_state}, on_gpu = {0, 20, held, held};
  ssm_mix(host_queue(), layer.shape, layer.in(on_the_host), {&on_host, 1}, std::span(want), room);
  const SsmInputs in = layer.in([&](const SsmNumbers& x) { return View<const float>(there(x)); });
  EXPECT_GT(waits_in([&] { ssm_mix(queue(), layer.shape, in, {&on_gpu, 1}, out, room); }), 0);
  expect_close(here(out), want, 1e-5, 1e-6);
  expect_close(here(held), state, 1e-5, 1e-6);
}

TEST_F(CudaSsm, GatedConvolutionsEqualTheHosts) {
  for (const GatedConvolutionShape& shape :
       {GatedConvolutionShape{2048, 3}, {64, 4}, {24, 2}, {130, 7}}) {
    for (const int64_t rows : {1, 2, 8, 9, 17, 64, 100}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, kernel " << shape.kernel);
      const NumberedRows apart[] = {{0, rows, 0, 1}}, in_place[] = {{0, rows, 0, 0}};
      expect_convolution(shape, apart, rows, 2);
      expect_convolution(shape, in_place, rows, 1);
    }
    std::vector<NumberedRows> ragged;
    int64_t end = 0;
    for (int64_t i = 0; i < 130; ++i) {
      const int64_t rows = 1 + i * 7 % 20;
      ragged.push_back({end, rows, sized(2 * i), sized(2 * i + 1)});
      end += rows;
    }
    expect_convolution(shape, ragged, end, 260);
    expect_convolution(shape, kContinued, 112, 8);
  }
}

}  // namespace
}  // namespace longhaul::cuda
