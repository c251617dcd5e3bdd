#include "ops/cuda/products.h"

#include <vector>

#include "base/assert.h"
#include "ops/cuda/elementwise.h"
#include "ops/cuda/expand.h"

namespace longhaul::cuda {

void Products::linear(const OwnInput& x, std::span<const DeviceLinear> products) {
  const Stream stream = queue_.handle();
  if (x.rows() > kMostMatvecRows) {
    for (const DeviceLinear& product : products) {
      const auto& weight = static_cast<const OwnMatrix&>(*product.weight);
      const MatrixView w = weight.view_for_many(queue_);
      float* const y = product.y.address();
      many(x.bf16(), x.rows(), w, y, product.add);
      if (!product.bias.empty()) {
        add_bias(stream, y, product.bias.address(), x.rows(), w.rows, w.rows);
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
  const MatrixView w = weight.view_for_many(queue_);
  GemmCall call{.rows = x.rows(), .outputs = w.rows, .cols = w.cols, .x = x.bf16()};
  call.y = y;
  call.bf16_out = true;
  run(call, w);
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

/// With the weights in bf16, as they are kept or expanded now.
void Products::run(GemmCall& call, const MatrixView& w) {
  if (w.bf16 != nullptr) {
    call.w = w.bf16;
    call.w_stride = w.bf16_stride;
  } else {
    const int64_t stride = bf16_stride_of(w.cols);
    expanded_.at_least(static_cast<size_t>(w.rows * stride) * sizeof(uint16_t));
    expand_bf16(queue_.handle(), w, 0, w.rows, static_cast<uint16_t*>(expanded_.data));
    call.w = static_cast<const uint16_t*>(expanded_.data);
    call.w_stride = stride;
  }
  gemm().run(queue_.handle(), call);
}

}  // namespace longhaul::cuda
