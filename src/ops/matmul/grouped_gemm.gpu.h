#pragma once
// Multiplies by many matrices of one shape in one launch, through cuBLAS. Each matrix multiplies
// its own rows, as in a mixture of experts.

#include <cstdint>
#include <span>
#include <vector>

#include "ops/core/gpu/cublas_library.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/core/gpu/room.h"

namespace longhaul::cuda {

/// The product y[r, o] = sum over i of x[r, i] * w[o, i] in bf16 with f32 sums. x and y are
/// contiguous. Rows of w begin `w_stride` elements apart (run()).
struct GroupedProduct {
  const uint16_t* w = nullptr;
  const uint16_t* x = nullptr;
  uint16_t* y = nullptr;
  int64_t rows = 0;
};

/// Computes grouped products. Each queue needs its own object, because concurrent calls must not
/// share the workspace.
class GroupedGemm {
 public:
  /// Throws UserError if cuBLAS is missing or cannot be initialised.
  explicit GroupedGemm(GpuQueue& queue);
  ~GroupedGemm();
  GroupedGemm(const GroupedGemm&) = delete;
  GroupedGemm& operator=(const GroupedGemm&) = delete;

  /// Computes the products. Each w is [outputs, cols]. Products with no rows are skipped.
  void run(std::span<const GroupedProduct> products, int64_t outputs, int64_t cols,
           int64_t w_stride);

 private:
  GpuQueue& queue_;
  const GroupedLibrary& library_;
  lt::Handle handle_ = nullptr;
  Room workspace_{queue_}, addresses_{queue_};
  std::vector<const void*> sent_;  ///< addresses of all w, then of all x, then of all y
  std::vector<int> transposed_, plain_, outputs_, cols_, strides_, rows_, ones_;
  std::vector<float> alpha_, beta_;
};

}  // namespace longhaul::cuda
