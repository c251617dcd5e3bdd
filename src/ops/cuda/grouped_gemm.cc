#include "ops/cuda/grouped_gemm.h"

#include "base/error.h"
#include "ops/cuda/shared_library.h"

namespace longhaul::cuda {
namespace {

constexpr const char* kBlasNames[] = {"libcublas.so.13", "libcublas.so.12"};
constexpr const char* kBlasPackages[] = {"cu13/lib", "cublas/lib"};
constexpr size_t kWorkspaceBytes = size_t{32} << 20;  // what NVIDIA advises for Hopper cards

BlasLibrary load_blas() {
  const SharedLibrary library({kBlasNames, kBlasPackages,
                               "install NVIDIA's cuBLAS (of a CUDA toolkit, or the PyPI package "
                               "nvidia-cublas)"});
  BlasLibrary l{};
  l.path = library.path();
  library.take("cublasCreate_v2", l.create);
  library.take("cublasDestroy_v2", l.destroy);
  library.take("cublasSetStream_v2", l.set_stream);
  library.take("cublasSetWorkspace_v2", l.set_workspace);
  library.take("cublasGemmGroupedBatchedEx", l.multiply);
  return l;
}

const BlasLibrary& open_blas() {
  static const BlasLibrary opened = load_blas();
  return opened;
}

}  // namespace

GroupedGemm::GroupedGemm(GpuQueue& queue) : queue_(queue), library_(open_blas()) {
  if (const int status = library_.create(&handle_); status != blas::kSuccess) {
    user_error("{}: cublasCreate fails with status {}: does its version fit the driver's?",
               library_.path, status);
  }
  workspace_.at_least(kWorkspaceBytes);
  require(library_.set_stream(handle_, queue_.handle()), "SetStream");
  require(library_.set_workspace(handle_, workspace_.data, workspace_.size), "SetWorkspace");
}

GroupedGemm::~GroupedGemm() { library_.destroy(handle_); }

void GroupedGemm::require(int status, const char* what) const {
  if (status == blas::kSuccess) return;
  throw std::runtime_error(fmt::format("{}: {} fails with status {}", library_.path, what, status));
}

/// cuBLAS counts columns first: what lies as y [rows, outputs] is its [outputs, rows], the product
/// of w, turned, and x as it lies.
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
  transposed_.assign(count, blas::kTransposed);
  plain_.assign(count, blas::kPlain);
  outputs_.assign(count, static_cast<int>(outputs));
  cols_.assign(count, static_cast<int>(cols));
  strides_.assign(count, static_cast<int>(w_stride));
  ones_.assign(count, 1);
  alpha_.assign(count, 1);
  beta_.assign(count, 0);
  const void* const* const w = addresses_.upload(std::span<const void* const>(sent_));
  require(library_.multiply(handle_, transposed_.data(), plain_.data(), outputs_.data(),
                            rows_.data(), cols_.data(), alpha_.data(), w, blas::kR16BF,
                            strides_.data(), w + count, blas::kR16BF, cols_.data(), beta_.data(),
                            const_cast<void* const*>(w + 2 * count), blas::kR16BF, outputs_.data(),
                            static_cast<int>(count), ones_.data(), blas::kCompute32F),
          "GemmGroupedBatchedEx");
}

}  // namespace longhaul::cuda
