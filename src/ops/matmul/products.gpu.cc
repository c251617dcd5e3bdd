#include "ops/matmul/products.gpu.h"

#include <vector>

#include "base/assert.h"
#include "base/error.h"
#include "ops/core/elementwise.gpu.h"
#include "ops/matmul/expand.gpu.h"

namespace longhaul::cuda {

void Products::linear(const OwnInput& x, std::span<const DeviceLinear> products) {
  const Stream stream = queue_.handle();
  if (x.rows() > kMostMatvecRows) {
    for (const DeviceLinear& product : products) {
      const auto& weight = static_cast<const OwnMatrix&>(*product.weight);
      const int64_t outputs = weight.rows();
      GemmCall call{.rows = x.rows(), .outputs = outputs, .cols = weight.cols()};
      call.y = product.y.address();
      call.add = product.add;
      run(call, x, weight, product.exact);
      if (!product.bias.empty()) {
        add_bias(stream, product.y.address(), product.bias.address(), x.rows(), outputs, outputs);
      }
    }
    return;
  }
  std::vector<MatvecJob> jobs;
  for (const DeviceLinear& product : products) {
    jobs.push_back({.weight = view_of(*product.weight),
                    .y = product.y.address(),
                    .bias = product.bias.empty() ? nullptr : product.bias.address(),
                    .add = product.add});
  }
  matvec(stream, x.for_products(), jobs);
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
