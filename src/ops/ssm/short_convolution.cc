#include "ops/ssm/short_convolution.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/ssm/ssm_kernels.h"

namespace longhaul {
namespace {

/// Writes the rows that precede those of the next call.
void keep_last_inputs(int64_t kept, int64_t width, const float* x, int64_t stride, int64_t rows,
                      const float* before, float* after) {
  const int64_t old = std::max<int64_t>(0, kept - rows);
  const auto row_bytes = static_cast<size_t>(width) * sizeof *x;
  std::memmove(after, before + (kept - old) * width, static_cast<size_t>(old) * row_bytes);
  for (int64_t i = old; i < kept; ++i) {
    std::memcpy(after + i * width, x + (rows - kept + i) * stride, row_bytes);
  }
}

}  // namespace

void short_convolution(const ShortConvolution& convolution, const float* x, int64_t stride,
                       int64_t rows, const float* before, float* after, float* y) {
  constexpr int kMostTaps = 64;
  const int64_t width = convolution.channels, kept = convolution.kernel - 1;
  LH_ASSERT(convolution.kernel >= 1 && convolution.kernel <= kMostTaps);
  parallel_ranges(rows, 4, [&](int64_t begin, int64_t end) {
    const SsmTable& kernels = kSsm_for(current_isa());
    const float* taps[kMostTaps];
    for (int64_t r = begin; r < end; ++r) {
      for (int64_t j = 0; j <= kept; ++j) {
        const int64_t row = r + j - kept;
        taps[j] = row < 0 ? before + (kept + row) * width : x + row * stride;
      }
      kernels.convolve(taps, convolution.weight, convolution.bias, convolution.kernel, width,
                       convolution.silu, y + r * width);
    }
  });
  keep_last_inputs(kept, width, x, stride, rows, before, after);
}

void gated_convolution(const GatedConvolutionShape& shape, const float* in, const float* weight,
                       int64_t rows, const float* before, float* after, float* out,
                       float* scratch) {
  const int64_t n = shape.width;
  float *const gated = scratch, *const convolved = scratch + rows * n;
  const auto multiply_rows = [&](auto&& row) {
    parallel_ranges(rows, 4, [&](int64_t begin, int64_t end) {
      const SsmTable& kernels = kSsm_for(current_isa());
      for (int64_t r = begin; r < end; ++r) row(kernels, in + 3 * r * n, r * n);
    });
  };
  multiply_rows([&](const SsmTable& kernels, const float* abx, int64_t at) {
    kernels.multiply(abx, abx + 2 * n, n, gated + at);
  });
  short_convolution({n, shape.kernel, weight, nullptr, false}, gated, n, rows, before, after,
                    convolved);
  multiply_rows([&](const SsmTable& kernels, const float* abx, int64_t at) {
    kernels.multiply(abx + n, convolved + at, n, out + at);
  });
}

void gated_convolution(Queue& queue, const GatedConvolutionShape& shape, View<const float> in,
                       View<const float> weight, std::span<const RecurrentTask> tasks,
                       View<float> out, Buffer<float>& scratch) {
  if (tasks.empty()) return;
  if (on_device(kGatedConvolution, queue, shape, in, weight, tasks, out)) return;
  HostStage on(queue);
  const int64_t width = shape.width;
  const float *const rows = on(in).address(), *const taps = on(weight).address();
  float* const y = on(out).address();
  for (const RecurrentTask& task : tasks) {
    scratch.resize(static_cast<size_t>(2 * task.rows * width));
    float* const after = on(task.after).address();
    const float* const before = on(task.before).address();
    gated_convolution(shape, rows + 3 * task.first * width, taps, task.rows, before, after,
                      y + task.first * width, scratch.data());
  }
}

}  // namespace longhaul
