#pragma once
// Opens NCCL on first use. The program is not linked with NCCL and does not contain it, because it
// is large (218 MB).

#include <cuda_runtime_api.h>

#include <string>

namespace longhaul::cuda {

/// The functions of NCCL that the program uses. The declarations repeat those of nccl.h, so that
/// builds need no CUDA toolkit.
struct NcclLibrary {
  using Communicator = void*;
  static constexpr int kSuccess = 0, kSum = 0, kInt32 = 2, kFloat32 = 7;

  std::string path;  ///< path that was opened
  int version = 0;   ///< NCCL's encoding: 22803 means 2.28.3

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

/// Returns the library. Throws UserError with the searched places if it is not found.
const NcclLibrary& open_nccl();

}  // namespace longhaul::cuda
