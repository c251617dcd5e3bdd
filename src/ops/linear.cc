#include "ops/linear.h"

#include <algorithm>
#include <type_traits>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/add.h"
#include "ops/convert.h"
#include "ops/cpu/isa.h"
#include "ops/dequantize.h"

namespace longhaul {
namespace {

/// Elements of an expanded panel. Small enough that what one pass writes is still in the
/// second-level caches when the GEMM reads it, large enough for the GEMM to reach its speed.
constexpr int64_t kPanelElements = int64_t{4} << 20;

int64_t panel_rows(int64_t cols) { return std::max<int64_t>(64, kPanelElements / cols / 64 * 64); }

/// Rows [begin, begin + count) of a matrix as plain T: the mapped file itself where it holds T.
template <class T>
const T* expand(const TensorView& weight, int64_t begin, int64_t count, Buffer<T>& panel) {
  constexpr DType kPlain = std::is_same_v<T, float> ? DType::F32 : DType::BF16;
  const std::byte* stored = weight.row(begin);
  if (weight.type == kPlain && reinterpret_cast<uintptr_t>(stored) % sizeof(T) == 0) {
    return reinterpret_cast<const T*>(stored);
  }
  panel.resize(static_cast<size_t>(count * weight.cols()));
  if constexpr (std::is_same_v<T, float>) {
    dequantize_rows(weight, begin, count, panel.data());
  } else {
    dequantize_rows_bf16(weight, begin, count, panel.data());
  }
  return panel.data();
}

template <class T>
void by_panels(const T* x, int64_t rows, const LinearJob& job) {
  thread_local Buffer<T> panel;
  const int64_t outputs = job.weight.rows(), cols = job.weight.cols();
  const int64_t stride = job.y_stride == 0 ? outputs : job.y_stride;
  const int64_t step = panel_rows(cols);
  for (int64_t n = 0; n < outputs; n += step) {
    const int64_t count = std::min(step, outputs - n);
    const T* weight = expand(job.weight, n, count, panel);
    if constexpr (std::is_same_v<T, float>) {
      gemm_f32(rows, count, cols, x, weight, job.y + n, stride);
    } else {
      gemm_bf16(rows, count, cols, x, weight, job.y + n, stride);
    }
  }
  if (job.bias != nullptr) add_bias(job.y, job.bias, rows, outputs, stride);
}

void few_rows(LinearInput& x, std::span<const LinearJob> jobs) {
  constexpr size_t kMost = 8;
  LH_ASSERT(jobs.size() <= kMost);
  MatvecJob few[kMost];
  for (size_t i = 0; i < jobs.size(); ++i) {
    few[i] = {jobs[i].weight, jobs[i].y, jobs[i].y_stride, jobs[i].bias};
  }
  matvec(std::span<const MatvecJob>(few, jobs.size()), x.few());
}

}  // namespace

void LinearInput::assign(const float* x, int64_t rows, int64_t cols) {
  f32_ = x;
  bf16_ = nullptr;
  rows_ = rows;
  cols_ = cols;
}

void LinearInput::assign(const bf16_t* x, int64_t rows, int64_t cols) {
  f32_ = nullptr;
  bf16_ = x;
  rows_ = rows;
  cols_ = cols;
}

const bf16_t* LinearInput::bf16() {
  if (bf16_ == nullptr) {
    converted_.resize(static_cast<size_t>(rows_ * cols_));
    parallel_ranges(rows_ * cols_, 4096, [&](int64_t begin, int64_t end) {
      f32_to_bf16(f32_ + begin, end - begin, converted_.data() + begin);
    });
    bf16_ = converted_.data();
  }
  return bf16_;
}

ActivationRows& LinearInput::few() {
  LH_ASSERT(f32_ != nullptr && rows_ <= kMatvecMaxRows);
  few_.assign(f32_, rows_, cols_);
  return few_;
}

bool multiplies_in_bf16(Compute compute) {
  return compute == Compute::kBest && current_isa() >= Isa::kAvx512Bf16;
}

void linear(LinearInput& x, std::span<const LinearJob> jobs, Compute compute) {
  for (const LinearJob& job : jobs) LH_ASSERT(job.weight.cols() == x.cols());
  // Reference arithmetic keeps the activations in f32 even for a few rows of quantized weights.
  const bool few = x.rows() <= kMatvecMaxRows && x.f32() != nullptr;
  if (few && (compute == Compute::kBest || !is_block_type(jobs[0].weight.type))) {
    few_rows(x, jobs);
    return;
  }
  for (const LinearJob& job : jobs) {
    if (multiplies_in_bf16(compute)) {
      by_panels(x.bf16(), x.rows(), job);
    } else {
      by_panels(x.f32(), x.rows(), job);
    }
  }
}

void linear(LinearInput& x, const LinearJob& job, Compute compute) {
  linear(x, std::span<const LinearJob>(&job, 1), compute);
}

size_t linear_scratch_bytes() { return static_cast<size_t>(kPanelElements) * sizeof(float); }

}  // namespace longhaul
