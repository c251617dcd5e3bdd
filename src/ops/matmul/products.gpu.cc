#include "ops/matmul/products.gpu.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/assert.h"
#include "base/error.h"
#include "ops/core/elementwise.gpu.h"
#include "ops/matmul/expand.gpu.h"
#include "ops/matmul/row_tiles.gpu.h"

namespace longhaul::cuda {
namespace {

MatvecJob job_of(const DeviceLinear& product) {
  return {.weight = view_of(*product.weight),
          .y = product.y.address(),
          .bias = product.bias.empty() ? nullptr : product.bias.address(),
          .add = product.add};
}

/// Up to kMostMatvecRows rows of an input in int8, from row `first` on.
MatvecInput rows_of(const MatvecInput& x, int64_t first) {
  MatvecInput some = x;
  some.rows = std::min(kMostMatvecRows, x.rows - first);
  some.x = nullptr;  // block types read the int8 form
  some.int8.q += first * x.int8.groups;
  some.int8.factors += first * x.int8.groups;
  return some;
}

}  // namespace

void Products::linear(const OwnInput& x, std::span<const DeviceLinear> products) {
  const auto in_tiles = [&](const DeviceLinear& product) {
    return multiplies_in_tiles(view_of(*product.weight).type, x.rows());
  };
  const bool few = x.rows() <= kMostMatvecRows;
  if (x.both() &&
      (!few || (x.rows() >= kLeastTileRows && std::ranges::all_of(products, in_tiles)))) {
    return by_stored_blocks(x, products);
  }
  if (!few) {
    for (const DeviceLinear& product : products) by_gemm(x, product);
    return;
  }
  std::vector<MatvecJob> jobs;
  for (const DeviceLinear& product : products) jobs.push_back(job_of(product));
  matvec(queue_.handle(), x.for_products(), jobs);
}

void Products::by_gemm(const OwnInput& x, const DeviceLinear& product) {
  const auto& weight = static_cast<const OwnMatrix&>(*product.weight);
  const int64_t outputs = weight.rows();
  GemmCall call{.rows = x.rows(), .outputs = outputs, .cols = weight.cols()};
  call.y = product.y.address();
  call.add = product.add;
  run(call, x, weight, product.exact);
  if (product.bias.empty()) return;
  add_bias(queue_.handle(), product.y.address(), product.bias.address(), x.rows(), outputs,
           outputs);
}

/// Products of decode rows: tiles where the type has them, else ceil(N / 8) products of up to 8
/// rows. Plain types, whose weights need no expansion, use the GEMM library.
void Products::by_stored_blocks(const OwnInput& x, std::span<const DeviceLinear> products) {
  const MatvecInput input = x.for_matvec();
  std::vector<MatvecJob> left, same;
  for (const DeviceLinear& product : products) {
    if (is_block_type(view_of(*product.weight).type)) {
      left.push_back(job_of(product));
    } else {
      by_gemm(x, product);
    }
  }
  while (!left.empty()) {
    const DType type = left.front().weight.type;
    same.clear();
    std::ranges::copy_if(left, std::back_inserter(same),
                         [&](const MatvecJob& job) { return job.weight.type == type; });
    std::erase_if(left, [&](const MatvecJob& job) { return job.weight.type == type; });
    if (multiplies_in_tiles(type, input.rows)) {
      by_tiles(input, same);
      continue;
    }
    for (int64_t first = 0; first < input.rows; first += kMostMatvecRows) {
      std::vector<MatvecJob> some = same;
      for (MatvecJob& job : some) job.y += first * job.weight.rows;
      matvec(queue_.handle(), rows_of(input, first), some);
    }
  }
}

void Products::by_tiles(const MatvecInput& x, std::span<const MatvecJob> jobs) {
  const TilePlan plan = tile_plan(x, jobs);
  partial_.at_least(plan.floats * sizeof(float));
  const size_t before = counters_.size;
  counters_.at_least(plan.counters * sizeof(int));
  if (counters_.size != before) queue_.clear(counters_.data, counters_.size);
  multiply_tiles(queue_.handle(), x, jobs, plan, static_cast<float*>(partial_.data),
                 static_cast<int*>(counters_.data));
}

Gemm& Products::gemm() {
  if (gemm_ == nullptr) gemm_ = std::make_unique<Gemm>(open_cublas());
  return *gemm_;
}

void Products::many(const uint16_t* x, int64_t rows, const MatrixView& w, float* y, bool add) {
  GemmCall call{.rows = rows, .outputs = w.rows, .cols = w.cols, .x = x};
  call.y = y;
  call.add = add;
  run(call, w);
}

void Products::many_bf16(const OwnInput& x, const OwnMatrix& weight, uint16_t* y) {
  GemmCall call{.rows = x.rows(), .outputs = weight.rows(), .cols = weight.cols()};
  call.y = y;
  call.bf16_out = true;
  run(call, x, weight);
}

void Products::back(const OwnInput& dy, const OwnMatrix& weight, float* dx, bool add) {
  const MatrixView w = weight.view_for_many(queue_);
  LH_ASSERT(dy.cols() == w.rows);
  GemmCall call{.rows = dy.rows(), .outputs = w.cols, .cols = w.rows, .x = dy.bf16()};
  call.w_turned = true;
  call.y = dx;
  call.add = add;
  run(call, w);
}

void Products::require_fp8() {
  queue_.enter();
  if (queue_.capability() != 90) {
    user_error(
        "--compute fp8: {} does not multiply so; it takes compute capability 9.0 (H100, H200)",
        queue_.name());
  }
  const CublasLibrary& cublas = open_cublas();
  if (cublas.version < lt::kScaleOfRowSince) {
    user_error("--compute fp8: {} is cuBLAS {}.{}; it takes 12.9 or later", cublas.path,
               cublas.version / 10000, cublas.version / 100 % 100);
  }
}

bool Products::multiplies_fp8(const OwnInput& x, const OwnMatrix& weight) {
  return x.multiplies_fp8() && weight.rows() % kFp8Multiple == 0 &&
         weight.cols() % kFp8Multiple == 0;
}

void Products::run(GemmCall& call, const OwnInput& x, const OwnMatrix& weight, bool exact) {
  if (exact || !multiplies_fp8(x, weight)) {
    call.x = x.bf16();
    return run(call, weight.view_for_many(queue_));
  }
  const Fp8Rows rows = x.fp8(), w = in_fp8(weight);
  call.x = rows.numbers;
  call.x_scales = rows.scales;
  call.w = w.numbers;
  call.w_scales = w.scales;
  gemm().run(queue_.handle(), call);
}

void Products::run(GemmCall& call, const MatrixView& w) {
  const Bf16Rows rows = in_bf16(w);
  call.w = rows.numbers;
  call.w_stride = rows.stride;
  gemm().run(queue_.handle(), call);
}

/// Returns the kept bf16 weights, or expands them.
Products::Bf16Rows Products::in_bf16(const MatrixView& w) {
  if (w.bf16 != nullptr) return {w.bf16, w.bf16_stride};
  const int64_t stride = bf16_stride_of(w.cols);
  expanded_.at_least(static_cast<size_t>(w.rows * stride) * sizeof(uint16_t));
  auto* const numbers = static_cast<uint16_t*>(expanded_.data);
  expand_bf16(queue_.handle(), w, 0, w.rows, numbers);
  return {numbers, stride};
}

/// Returns the kept 8-bit weights, or rounds them.
Fp8Rows Products::in_fp8(const OwnMatrix& weight) {
  if (const Fp8Rows kept = weight.view().fp8; kept.numbers != nullptr) return kept;
  // This comes first: when memory runs short, bf16 copies are dropped.
  rounded_.at_least(fp8_bytes(weight.rows(), weight.cols()));
  const Bf16Rows bf16 = in_bf16(weight.view());
  const Fp8Rows kept = weight.kept_fp8(queue_, bf16.numbers, bf16.stride);
  if (kept.numbers != nullptr) return kept;
  const Fp8Rows rows = fp8_rows_in(rounded_.data, weight.rows(), weight.cols());
  round_to_fp8(queue_.handle(), bf16.numbers, bf16.stride, weight.rows(), weight.cols(), rows);
  return rows;
}

}  // namespace longhaul::cuda
