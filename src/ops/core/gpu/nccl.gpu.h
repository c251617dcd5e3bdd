#pragma once
// NCCL, opened when it is needed (218 MB that the program neither carries nor is linked with).

#include <cuda_runtime_api.h>

#include <string>

namespace longhaul::cuda {

/// The part of nccl.h that is used here, declared again so that no toolkit is needed to build:
/// numbers and arguments are those of NCCL's header.
struct NcclLibrary {
  using Communicator = void*;
  static constexpr int kSuccess = 0, kSum = 0, kInt32 = 2, kFloat32 = 7;

  std::string path;  ///< as it was opened
  int version = 0;   ///< 22803: 2.28.3

  int (*init_all)(Communicator*, int devices, const int* numbers);
  int (*destroy)(Communicator);
  int (*abort)(Communicator);
  int (*all_reduce)(const void* from, void* to, size_t count, int type, int operation, Communicator,
                    cudaStream_t);
  int (*all_gather)(const void* from, void* to, size_t count_of_each, int type, Communicator,
                    cudaStream_t);
  const char* (*error_text)(int);
  int (*get_version)(int*);
};

/// Throws UserError that says where it looked.
const NcclLibrary& open_nccl();

}  // namespace longhaul::cuda
