#pragma once
// Products of many matrices of one shape, each with rows of its own, in one launch: those of a
// mixture of experts. Through cuBLAS, which lies beside cuBLASLt wherever that does.

#include <cstdint>
#include <span>
#include <vector>

#include "ops/cuda/gpu_queue.h"
#include "ops/cuda/room.h"

namespace longhaul::cuda {

/// The part of cublas_api.h that is used here, declared again so that no toolkit is needed to
/// build; a test compares it with the header.
namespace blas {

using Handle = void*;

inline constexpr int kSuccess = 0;
inline constexpr int kPlain = 0, kTransposed = 1;  // CUBLAS_OP_N, CUBLAS_OP_T
inline constexpr int kCompute32F = 68, kR16BF = 14;

}  // namespace blas

/// The functions of an opened library.
struct BlasLibrary {
  std::string path;  ///< as it was opened

  int (*create)(blas::Handle*);
  int (*destroy)(blas::Handle);
  int (*set_stream)(blas::Handle, void* stream);
  int (*set_workspace)(blas::Handle, void* workspace, size_t bytes);
  /// cublasGemmGroupedBatchedEx: all arrays in host memory but those of addresses.
  int (*multiply)(blas::Handle, const int* a_form, const int* b_form, const int* m, const int* n,
                  const int* k, const void* alpha, const void* const* a, int a_type, const int* lda,
                  const void* const* b, int b_type, const int* ldb, const void* beta,
                  void* const* c, int c_type, const int* ldc, int groups, const int* group_sizes,
                  int compute);
};

/// y[r, o] = sum_i x[r, i] w[o, i] of bf16 numbers, all packed but w, whose rows are `w_stride`
/// elements apart; f32 sums.
struct GroupedProduct {
  const uint16_t* w = nullptr;
  const uint16_t* x = nullptr;
  uint16_t* y = nullptr;
  int64_t rows = 0;
};

/// One for each queue, as Gemm.
class GroupedGemm {
 public:
  /// Throws UserError where the library is missing or cannot start.
  explicit GroupedGemm(GpuQueue& queue);
  ~GroupedGemm();
  GroupedGemm(const GroupedGemm&) = delete;
  GroupedGemm& operator=(const GroupedGemm&) = delete;

  /// Of matrices [outputs, cols]; those without rows are left out.
  void run(std::span<const GroupedProduct> products, int64_t outputs, int64_t cols,
           int64_t w_stride);

 private:
  void require(int status, const char* what) const;

  GpuQueue& queue_;
  const BlasLibrary& library_;
  blas::Handle handle_ = nullptr;
  Room workspace_{queue_}, addresses_{queue_};
  std::vector<const void*> sent_;  ///< of w, then of x, then of y
  std::vector<int> transposed_, plain_, outputs_, cols_, strides_, rows_, ones_;
  std::vector<float> alpha_, beta_;
};

}  // namespace longhaul::cuda
