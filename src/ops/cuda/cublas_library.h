#pragma once
// cuBLASLt, opened when it is needed: 541 MB that the program neither carries nor is linked with.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace longhaul::cuda {

/// The part of cublasLt.h that is used here, declared again so that no toolkit is needed to build;
/// a test compares it with the header.
namespace lt {

using Handle = void*;
using Operation = void*;  // cublasLtMatmulDesc_t
using Layout = void*;
using Preference = void*;

inline constexpr int kSuccess = 0;
inline constexpr int kCompute32F = 68;  // CUBLAS_COMPUTE_32F
inline constexpr int kR32F = 0, kR16BF = 14;
inline constexpr int32_t kTransposed = 1;
inline constexpr int kTransA = 3, kTransB = 4;           // CUBLASLT_MATMUL_DESC_TRANSA, ...
inline constexpr int kBatchCount = 5, kBatchOffset = 6;  // of a layout
inline constexpr int kMaxWorkspace = 1;
inline constexpr int kAlignmentOf[4] = {5, 6, 7, 8};  // A, B, C, D

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

/// The functions of an opened library.
struct CublasLibrary {
  std::string path;  ///< as it was opened
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

/// Opens libcublasLt.so.13, else .12 (shared_library.h). Throws UserError that says where it
/// looked.
const CublasLibrary& open_cublas();

}  // namespace longhaul::cuda
