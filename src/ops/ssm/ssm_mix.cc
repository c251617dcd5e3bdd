#include "ops/ssm/ssm_mix.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "base/float_types.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/ssm/short_convolution.h"
#include "ops/ssm/ssm_kernels.h"

namespace longhaul {
namespace {

constexpr int kFewSsmRows = 4;  // cheaper one by one than as products of matrices
constexpr int kHeadsOfRun = 8;  // heads that one job computes; they share products of B and C

float softplus_of(float x) { return x > 20 ? x : std::log1p(std::exp(x)); }

/// The rows of some heads of one group, in chunks.
class RunOfHeads {
 public:
  RunOfHeads(const SsmShape& shape, const SsmRows& in, int first, int end)
      : shape_(shape), in_(in), first_(first), end_(end) {
    const auto turned = static_cast<size_t>(kSsmRows * shape.state);
    constexpr size_t kPairs = size_t{kSsmRows} * kSsmRows;
    room_.resize(turned + kPairs + static_cast<size_t>(ssm_scratch(shape.head_dim)));
    group_.state = shape.state;
    group_.stride = shape.channels();
    group_.b_turned = room_.data();
    group_.pairs = group_.b_turned + turned;
    scratch_ = group_.pairs + kPairs;
  }

  void run(const float* before, float* after, float* out) {
    const bool few = in_.rows <= kFewSsmRows;
    const int64_t head_numbers = int64_t{shape_.state} * shape_.head_dim;
    for (int64_t row = 0; row < in_.rows; row += group_.rows) {
      group_.rows = few ? 1 : static_cast<int>(std::min<int64_t>(kSsmRows, in_.rows - row));
      const float* const xbc = in_.xbc + row * shape_.channels();
      const int group = first_ / (shape_.heads / shape_.groups);
      group_.b = xbc + shape_.inner() + int64_t{group} * shape_.state;
      group_.c = group_.b + int64_t{shape_.groups} * shape_.state;
      if (!few) kernels_.prepare(group_);
      for (int head = first_; head < end_; ++head) {
        SsmHead h = steps_of(head, row);
        h.x = xbc + int64_t{head} * shape_.head_dim;
        h.after = after + head * head_numbers;
        h.before = row == 0 ? before + head * head_numbers : h.after;
        h.out = out + row * shape_.inner() + int64_t{head} * shape_.head_dim;
        few ? kernels_.step(h) : kernels_.chunk(h);
      }
    }
  }

 private:
  SsmHead steps_of(int head, int64_t row) {
    for (int i = 0; i < group_.rows; ++i) {
      const float step = in_.steps[(row + i) * in_.stride + head];
      dt_[i] = softplus_of(shape_.step_scale * step + in_.dt_bias[head]);
      decay_[i] = in_.rate[head] * dt_[i];
    }
    return {.group = &group_,
            .head_dim = shape_.head_dim,
            .dt = dt_,
            .decay = decay_,
            .skip = in_.skip[head],
            .out_stride = shape_.inner(),
            .scratch = scratch_};
  }

  const SsmShape& shape_;
  const SsmRows& in_;
  const int first_, end_;
  const SsmTable& kernels_ = kSsm_for(current_isa());
  static thread_local Buffer<float> room_;
  SsmGroup group_;
  float* scratch_;
  float dt_[kSsmRows], decay_[kSsmRows];
};

thread_local Buffer<float> RunOfHeads::room_;

}  // namespace

void ssm_scan(const SsmShape& shape, const SsmRows& in, const float* before, float* after,
              float* out) {
  const int of_group = shape.heads / shape.groups;
  const int runs = (of_group + kHeadsOfRun - 1) / kHeadsOfRun;  // jobs for a group
  parallel_for(int64_t{shape.groups} * runs, [&](int64_t job, int) {
    const auto group = static_cast<int>(job / runs), run = static_cast<int>(job % runs);
    const int first = group * of_group + run * kHeadsOfRun;
    const int end = std::min(first + kHeadsOfRun, (group + 1) * of_group);
    RunOfHeads(shape, in, first, end).run(before, after, out);
  });
}

void ssm_gate(const SsmShape& shape, float* y, const float* z, int64_t stride, const float* weight,
              float eps, int64_t rows) {
  const int64_t inner = shape.inner(), size = inner / shape.groups;
  LH_ASSERT(shape.norm == SsmNorm::kNone || weight != nullptr);
  parallel_ranges(rows, 8, [&](int64_t begin, int64_t end) {
    const SsmTable& kernels = kSsm_for(current_isa());
    const auto normalise = [&](float* row) {
      for (int64_t first = 0; first < inner; first += size) {
        kernels.norm(row + first, weight + first, eps, size);
      }
    };
    for (int64_t r = begin; r < end; ++r) {
      float* const row = y + r * inner;
      if (shape.norm == SsmNorm::kBeforeGate) normalise(row);
      kernels.gate(row, z + r * stride, shape.gate_scale, inner);
      if (shape.norm == SsmNorm::kAfterGate) normalise(row);
    }
  });
}

void ssm_mix(Queue& queue, const SsmShape& shape, const SsmInputs& in,
             std::span<const RecurrentTask> tasks, View<float> out, Buffer<float>& convolved) {
  if (tasks.empty()) return;
  if (on_device(kSsmMix, queue, shape, in, tasks, out)) return;
  HostStage on(queue);
  const auto here = [&](const auto& view) { return view.empty() ? nullptr : on(view).address(); };
  const int64_t inner = shape.inner();
  float* const all = here(out);
  const float *const projected = here(in.projected), *const steps = here(in.steps);
  const float *const norm = here(in.norm), *const bias = here(in.convolution_bias);
  const ShortConvolution convolution = {.channels = shape.channels(),
                                        .kernel = shape.kernel,
                                        .weight = here(in.convolution),
                                        .bias = bias};
  for (const RecurrentTask& task : tasks) {
    convolved.resize(static_cast<size_t>(task.rows * shape.channels()));
    const float* const rows = projected + task.first * in.stride;
    float* const after = here(task.after);
    const float* const before = here(task.before);
    short_convolution(convolution, rows + inner, in.stride, task.rows, before, after,
                      convolved.data());
    const SsmRows scan = {.rows = task.rows,
                          .xbc = convolved.data(),
                          .steps = steps + task.first * in.step_stride,
                          .stride = in.step_stride,
                          .dt_bias = here(in.dt_bias),
                          .rate = here(in.rate),
                          .skip = here(in.skip)};
    float* const y = all + task.first * inner;
    ssm_scan(shape, scan, before + shape.history(), after + shape.history(), y);
    ssm_gate(shape, y, rows, in.stride, norm, in.eps, task.rows);
  }
}

size_t ssm_device_bytes(const SsmShape& shape, int64_t rows) {
  // Convolved rows in f32 and in bf16.
  return static_cast<size_t>(rows * shape.channels()) * (sizeof(float) + sizeof(bf16_t));
}

}  // namespace longhaul
