#include <cuda_runtime.h>

#include <new>
#include <string>

#include "ops/core/gpu/device_error.gpu.h"

namespace longhaul::cuda {

void check(int code, const char* what) {
  const auto error = static_cast<cudaError_t>(code);
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clears the error, so that the next call does not report it again
  if (error == cudaErrorMemoryAllocation) throw std::bad_alloc();
  throw DeviceError(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
}

void check_launch(const char* kernel) { check(cudaGetLastError(), kernel); }

}  // namespace longhaul::cuda
