#include "ops/matmul/grouped_gemm.gpu.h"

#include "base/error.h"
#include "ops/core/device_room.h"

namespace longhaul::cuda {

GroupedGemm::GroupedGemm(GpuQueue& queue) : queue_(queue), library_(open_grouped_cublas()) {
  if (const int status = library_.create(&handle_); status != lt::kSuccess) {
    user_error("{}: cublasCreate fails with status {}: does its version fit the driver's?",
               library_.path, status);
  }
  workspace_.at_least(kGroupedWorkspace);
  require_cublas(library_.path, library_.set_stream(handle_, queue_.handle()), "SetStream");
  require_cublas(library_.path, library_.set_workspace(handle_, workspace_.data, workspace_.size),
                 "SetWorkspace");
}

GroupedGemm::~GroupedGemm() { library_.destroy(handle_); }

/// cuBLAS is column-major. A row-major y [rows, outputs] is its [outputs, rows], the product of w
/// (transposed) and x (as stored).
void GroupedGemm::run(std::span<const GroupedProduct> products, int64_t outputs, int64_t cols,
                      int64_t w_stride) {
  rows_.clear();
  sent_.clear();
  const auto send = [&](auto address) {
    for (const GroupedProduct& product : products) {
      if (product.rows > 0) sent_.push_back(address(product));
    }
  };
  send([](const GroupedProduct& p) { return p.w; });
  send([](const GroupedProduct& p) { return p.x; });
  send([](const GroupedProduct& p) { return p.y; });
  for (const GroupedProduct& product : products) {
    if (product.rows > 0) rows_.push_back(static_cast<int>(product.rows));
  }
  const size_t count = rows_.size();
  if (count == 0) return;
  transposed_.assign(count, lt::kTransposed);
  plain_.assign(count, lt::kAsItLies);
  outputs_.assign(count, static_cast<int>(outputs));
  cols_.assign(count, static_cast<int>(cols));
  strides_.assign(count, static_cast<int>(w_stride));
  ones_.assign(count, 1);
  alpha_.assign(count, 1);
  beta_.assign(count, 0);
  const void* const* const w = addresses_.upload(std::span<const void* const>(sent_));
  require_cublas(
      library_.path,
      library_.multiply(handle_, transposed_.data(), plain_.data(), outputs_.data(), rows_.data(),
                        cols_.data(), alpha_.data(), w, lt::kR16BF, strides_.data(), w + count,
                        lt::kR16BF, cols_.data(), beta_.data(),
                        const_cast<void* const*>(w + 2 * count), lt::kR16BF, outputs_.data(),
                        static_cast<int>(count), ones_.data(), lt::kCompute32F),
      "GemmGroupedBatchedEx");
}

}  // namespace longhaul::cuda
