#pragma once
// Computes products with many matrices of one shape in one launch, through cuBLAS. Each matrix has
// its own rows, as in a mixture of experts.

#include <cstdint>
#include <span>
#include <vector>

#include "ops/core/gpu/cublas_library.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/core/gpu/room.h"

namespace longhaul::cuda {

/// A product y[r, o] = sum over i of x[r, i] * w[o, i] in bf16 with f32 sums. x and y are packed,
/// and rows of w are `w_stride` elements apart.
struct GroupedProduct {
  const uint16_t* w = nullptr;
  const uint16_t* x = nullptr;
  uint16_t* y = nullptr;
  int64_t rows = 0;
};

/// Computes grouped products. Each queue needs its own object, as for Gemm.
class GroupedGemm {
 public:
  /// Throws UserError if the library is missing or cannot be initialised.
  explicit GroupedGemm(GpuQueue& queue);
  ~GroupedGemm();
  GroupedGemm(const GroupedGemm&) = delete;
  GroupedGemm& operator=(const GroupedGemm&) = delete;

  /// Multiplies rows by matrices [outputs, cols]. Products without rows are skipped.
  void run(std::span<const GroupedProduct> products, int64_t outputs, int64_t cols,
           int64_t w_stride);

 private:
  GpuQueue& queue_;
  const GroupedLibrary& library_;
  lt::Handle handle_ = nullptr;
  Room workspace_{queue_}, addresses_{queue_};
  std::vector<const void*> sent_;  ///< addresses of w, then of x, then of y
  std::vector<int> transposed_, plain_, outputs_, cols_, strides_, rows_, ones_;
  std::vector<float> alpha_, beta_;
};

}  // namespace longhaul::cuda
