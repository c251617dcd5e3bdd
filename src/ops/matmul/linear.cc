#include "ops/matmul/linear.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/core/add.h"
#include "ops/core/isa/isa.h"
#include "ops/matmul/dequantize.h"
#include "ops/matmul/linear_decode.h"
#include "ops/matmul/linear_panels.h"
#include "ops/matmul/panel_gemm.h"
#include "ops/matmul/weight_panels.h"

namespace longhaul {
namespace {

/// Elements of an expanded panel on the f32 path, and its outputs. Both are the same for any number
/// of threads, because the library's order of summation depends on them.
constexpr int64_t kF32PanelElements = int64_t{1} << 20;
constexpr int64_t kF32PanelOutputs = 128;

void in_f32(LinearInput& x, std::span<const LinearJob> jobs);

/// y += (scale * (x A^T)) B^T.
void add_low_rank(LinearInput& x, const LinearJob& job) {
  const LowRank& adapter = *job.low_rank;
  const int64_t rows = x.rows(), outputs = job.weight.rows(), rank = adapter.rank();
  std::vector<float> inner(static_cast<size_t>(rows * rank));
  in_f32(x, {{{.weight = adapter.a, .y = inner.data()}}});
  for (int64_t i = 0; i < rows * rank; ++i) {
    inner[static_cast<size_t>(i)] *= adapter.scale[static_cast<size_t>(i % rank)];
  }
  LinearInput input;
  input.set_row_kind(x.row_kind());
  input.assign(inner.data(), rows, rank);
  std::vector<float> product(static_cast<size_t>(rows * outputs));
  in_f32(input, {{{.weight = adapter.b, .y = product.data()}}});
  for (int64_t r = 0; r < rows; ++r) {
    add(job.y + r * stride_of(job), product.data() + r * outputs, 1, outputs);
  }
}

void in_f32(LinearInput& x, std::span<const LinearJob> jobs) {
  LH_ASSERT(x.f32() != nullptr);
  const int64_t cols = x.cols();
  const std::vector<WeightPanel> panels = cut_to_equal_panels(
      jobs, std::clamp<int64_t>(kF32PanelElements / cols / 64 * 64, 64, kF32PanelOutputs));
  parallel_for(static_cast<int64_t>(panels.size()), [&](int64_t i, int) {
    const WeightPanel& p = panels[static_cast<size_t>(i)];
    thread_local Buffer<float> expanded;
    expanded.resize(static_cast<size_t>(p.count * cols));
    dequantize_row(p.job->weight.type, p.job->weight.row(p.begin), p.count * cols, expanded.data());
    const int64_t stride = stride_of(*p.job);
    float* const y = p.job->y + p.begin;
    // The library's order of summation may depend on the number of rows.
    const int64_t step = x.row_kind() == RowKind::kDecode ? 1 : x.rows();
    for (int64_t r = 0; r < x.rows(); r += step) {
      gemm_f32(step, p.count, cols, x.f32() + r * cols, expanded.data(), y + r * stride, stride);
    }
  });
  for (const LinearJob& job : jobs) {
    if (job.bias != nullptr) {
      add_bias(job.y, job.bias, x.rows(), job.weight.rows(), stride_of(job));
    }
    if (job.low_rank != nullptr) add_low_rank(x, job);
  }
}

void run(LinearInput& x, std::span<const LinearJob> jobs, Compute compute) {
  // matvec() rounds the activations of quantized weights to int8; reference arithmetic may not.
  const bool rounds = std::any_of(jobs.begin(), jobs.end(), [](const LinearJob& job) {
    return is_block_type(job.weight.type) || job.low_rank != nullptr;
  });
  const bool decode = x.decode_rows(x.rows()) && x.f32() != nullptr;
  if (decode && (compute != Compute::kF32 || !rounds)) {
    linear_decode(x, jobs);
  } else if (const PanelGemmKernels* kernels = panel_kernels(compute)) {
    linear_panels(*kernels, x, jobs);
  } else {
    in_f32(x, jobs);
  }
}

/// Only linear_panels() adds as it writes; the others get a buffer to write to.
void run_and_add(LinearInput& x, const LinearJob& job, Compute compute) {
  thread_local Buffer<float> product;
  const int64_t outputs = job.weight.rows(), stride = stride_of(job);
  product.resize(static_cast<size_t>(x.rows() * outputs));
  run(x,
      {{{.weight = job.weight, .y = product.data(), .bias = job.bias, .low_rank = job.low_rank}}},
      compute);
  if (stride == outputs) {
    add(job.y, product.data(), x.rows(), outputs);
    return;
  }
  for (int64_t r = 0; r < x.rows(); ++r) {
    add(job.y + r * stride, product.data() + r * outputs, 1, outputs);
  }
}

/// The gated products to y [rows, ffn].
void swiglu_of_products(LinearInput& x, const SwigluWeights& weights, float* y, Compute compute) {
  thread_local Buffer<float> second;
  const int64_t rows = x.rows(), ffn = weights.gate.rows();
  second.resize(static_cast<size_t>(rows * ffn));
  const LinearJob jobs[] = {{.weight = weights.gate,
                             .y = y,
                             .bias = weights.gate_bias,
                             .low_rank = weights.gate_low_rank},
                            {.weight = weights.up,
                             .y = second.data(),
                             .bias = weights.up_bias,
                             .low_rank = weights.up_low_rank}};
  run(x, jobs, compute);
  swiglu(y, second.data(), rows, ffn, ffn, y, weights.gating);
}

}  // namespace

void LinearInput::assign(const float* x, int64_t rows, int64_t cols) {
  f32_ = x;
  form_ = nullptr;
  rows_ = rows;
  cols_ = cols;
}

float* LinearInput::begin_f32(int64_t rows, int64_t cols) {
  own_.resize(static_cast<size_t>(rows * cols));
  assign(own_.data(), rows, cols);
  return own_.data();
}

std::byte* LinearInput::begin_tiles(int64_t rows, int64_t cols, const PanelGemmKernels& kernels) {
  assign(nullptr, rows, cols);
  tiles_.resize(static_cast<size_t>(pad_to_tiles(rows, kBlockSide) / kTileSide *
                                    count_tiles(cols, kernels.depth) * kernels.x_tile));
  form_ = &kernels;
  return tiles_.data();
}

void LinearInput::pack(int64_t row_tile, const float* x, int64_t count) {
  const float* rows[kTileSide] = {};
  for (int64_t i = 0; i < count; ++i) rows[i] = x + i * cols_;
  form_->pack_rows(rows, cols_,
                   tiles_.data() + row_tile * count_tiles(cols_, form_->depth) * form_->x_tile);
}

const std::byte* LinearInput::tiles(const PanelGemmKernels& kernels) {
  if (form_ != &kernels) {
    const float* x = f32_;
    LH_ASSERT(x != nullptr);
    begin_tiles(rows_, cols_, kernels);
    f32_ = x;
    parallel_ranges(
        pad_to_tiles(rows_, kBlockSide) / kTileSide, 1, [&](int64_t first, int64_t last) {
          for (int64_t tile = first; tile < last; ++tile) {
            const int64_t begin = tile * kTileSide;
            pack(tile, x + begin * cols_, std::clamp<int64_t>(rows_ - begin, 0, kTileSide));
          }
        });
  }
  return tiles_.data();
}

ActivationRows& LinearInput::decode() {
  LH_ASSERT(f32_ != nullptr && decode_rows(rows_));
  decode_.assign(f32_, rows_, cols_);
  return decode_;
}

const PanelGemmKernels* panel_kernels(Compute compute) {
  if (compute == Compute::kF32) return nullptr;
  const PanelGemmKernels& int8 = kInt8PanelGemm_for(current_isa());
  if (compute == Compute::kInt8 && int8.depth != 0) return &int8;
  for (const PanelGemmKernels* k :
       {&kBf16PanelGemm_for(current_isa()), &kInt16PanelGemm_for(current_isa())}) {
    if (k->depth != 0) return k;
  }
  return nullptr;
}

const char* product_name(Compute compute) {
  if (compute == Compute::kFp8) return "fp8";
  const PanelGemmKernels* kernels = panel_kernels(compute);
  return kernels == nullptr ? "f32" : kernels->product;
}

size_t linear_input_bytes(int64_t cols, Compute compute) {
  const PanelGemmKernels* kernels = panel_kernels(compute);
  if (kernels == nullptr) return static_cast<size_t>(cols) * sizeof(float);
  return static_cast<size_t>(count_tiles(cols, kernels->depth) * kernels->x_tile / kTileSide);
}

void linear(LinearInput& x, std::span<const LinearJob> jobs, Compute compute) {
  for (const LinearJob& job : jobs) LH_ASSERT(job.weight.cols() == x.cols() && !job.add);
  run(x, jobs, compute);
}

void linear(LinearInput& x, const LinearJob& job, Compute compute) {
  LH_ASSERT(job.weight.cols() == x.cols());
  const bool adds_in_place = panel_kernels(compute) != nullptr && !x.decode_rows(x.rows());
  if (job.add && !adds_in_place) {
    run_and_add(x, job, compute);
  } else {
    run(x, {&job, 1}, compute);
  }
}

void linear_swiglu(LinearInput& x, const SwigluWeights& weights, LinearInput& inner,
                   Compute compute) {
  const TensorView &gate = weights.gate, &up = weights.up;
  const int64_t ffn = gate.rows(), rows = x.rows();
  LH_ASSERT(up.rows() == ffn && gate.cols() == x.cols() && up.cols() == x.cols());
  const PanelGemmKernels* kernels = panel_kernels(compute);
  inner.set_row_kind(x.row_kind());
  if (x.decode_rows(rows) || kernels == nullptr) {
    swiglu_of_products(x, weights, inner.begin_f32(rows, ffn), compute);
  } else {
    swiglu_panels(*kernels, x, weights, inner.begin_tiles(rows, ffn, *kernels));
  }
}

size_t linear_scratch_bytes(int64_t rows, int64_t most_cols, Compute compute) {
  // Covers oneDNN's own code, the code that it generates, and its packing. With nano these needed 0
  // to 14 MiB, varying from run to run.
  constexpr size_t kLibrary = size_t{16} << 20;
  const PanelGemmKernels* kernels = panel_kernels(compute);
  const int64_t panel = kernels != nullptr
                            ? panel_bytes(*kernels, rows, most_cols)
                            : std::max(kF32PanelElements, 64 * most_cols) * int64_t{sizeof(float)};
  return static_cast<size_t>(thread_count() * panel) + (kernels == nullptr ? kLibrary : 0);
}

}  // namespace longhaul
