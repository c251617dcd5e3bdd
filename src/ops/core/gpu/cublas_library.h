#pragma once
// Opens cuBLASLt and cuBLAS on first use. The program is not linked with these libraries and does
// not contain them, because they are large (541 and 54 MB).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace longhaul::cuda {

/// The constants and types below repeat declarations of cublasLt.h and cublas_api.h, so that builds
/// need no CUDA toolkit. A test compares them with the original headers.
namespace lt {

using Handle = void*;
using Operation = void*;  // cublasLtMatmulDesc_t
using Layout = void*;
using Preference = void*;

inline constexpr int kSuccess = 0;
inline constexpr int kCompute32F = 68;  // CUBLAS_COMPUTE_32F
inline constexpr int kR32F = 0, kR16BF = 14, kR8FE4M3 = 28;
inline constexpr int32_t kAsItLies = 0, kTransposed = 1;
inline constexpr int kTransA = 3, kTransB = 4;      // CUBLASLT_MATMUL_DESC_TRANSA, ...
inline constexpr int kScalesA = 17, kScalesB = 18;  // ..._A_SCALE_POINTER, ...
inline constexpr int kScaleModeA = 31, kScaleModeB = 32;
inline constexpr int32_t kScaleOfRow = 3;  // ..._MATRIX_SCALE_OUTER_VEC_32F
// First version of cuBLASLt that supports kScaleOfRow. The GPU must be a Hopper.
inline constexpr size_t kScaleOfRowSince = 120900;
inline constexpr int kBatchCount = 5, kBatchOffset = 6;  // attributes of a matrix layout
inline constexpr int kMaxWorkspace = 1;
inline constexpr int kAlignmentOf[4] = {5, 6, 7, 8};  // attributes: minimum alignment of the
                                                      // matrices A, B, C and D

struct Algorithm {
  uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

}  // namespace lt

/// The functions of cuBLASLt that the program calls.
struct CublasLibrary {
  std::string path;  ///< path that was opened
  size_t version = 0;

  int (*create)(lt::Handle*);
  int (*destroy)(lt::Handle);
  int (*create_operation)(lt::Operation*, int compute, int scale);
  int (*destroy_operation)(lt::Operation);
  int (*set_operation)(lt::Operation, int attribute, const void*, size_t);
  int (*create_layout)(lt::Layout*, int type, uint64_t rows, uint64_t cols, int64_t ld);
  int (*set_layout)(lt::Layout, int attribute, const void*, size_t);
  int (*destroy_layout)(lt::Layout);
  int (*create_preference)(lt::Preference*);
  int (*destroy_preference)(lt::Preference);
  int (*set_preference)(lt::Preference, int attribute, const void*, size_t);
  int (*find)(lt::Handle, lt::Operation, lt::Layout a, lt::Layout b, lt::Layout c, lt::Layout d,
              lt::Preference, int most, lt::Heuristic*, int* found);
  int (*multiply)(lt::Handle, lt::Operation, const void* alpha, const void* a, lt::Layout,
                  const void* b, lt::Layout, const void* beta, const void* c, lt::Layout, void* d,
                  lt::Layout, const lt::Algorithm*, void* workspace, size_t bytes, void* stream);
  size_t (*get_version)();
};

/// The cuBLAS functions that compute many products in one launch (grouped GEMM).
struct GroupedLibrary {
  std::string path;  ///< path that was opened

  int (*create)(lt::Handle*);
  int (*destroy)(lt::Handle);
  int (*set_stream)(lt::Handle, void* stream);
  int (*set_workspace)(lt::Handle, void* workspace, size_t bytes);
  /// Calls cublasGemmGroupedBatchedEx. The arrays of addresses (a, b and c) are in device memory,
  /// and all other arrays are in host memory.
  int (*multiply)(lt::Handle, const int* a_form, const int* b_form, const int* m, const int* n,
                  const int* k, const void* alpha, const void* const* a, int a_type, const int* lda,
                  const void* const* b, int b_type, const int* ldb, const void* beta,
                  void* const* c, int c_type, const int* ldc, int groups, const int* group_sizes,
                  int compute);
};

/// Throws std::runtime_error if `status`, the result of the call named `what`, reports an error of
/// the library at `path`.
void require_cublas(const std::string& path, int status, const char* what);

/// Opens libcublas.so.13, or libcublas.so.12 if there is no version 13. Throws UserError if neither
/// is found or if the library is older than 12.5.
const GroupedLibrary& open_grouped_cublas();

/// Opens libcublasLt.so.13, or libcublasLt.so.12 if there is no version 13 (shared_library.h).
/// Throws UserError with the searched places if neither is found.
const CublasLibrary& open_cublas();

}  // namespace longhaul::cuda
