#pragma once
// Kernels that begin while the kernel before them ends (programmatic dependent launch, compute
// capability 9.0 and later; on older cards everything here does nothing). What such a kernel does
// before wait_for_earlier_kernels() may only read what two kernels before it already found:
// weights. A kernel may let the next begin only after it has itself waited, and must have waited
// before it ends, so that a kernel's end is also the end of all before it.

#include <cuda_runtime.h>

#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

__device__ __forceinline__ void wait_for_earlier_kernels() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void let_next_kernel_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Both, for a kernel that has nothing to do before its turn.
__device__ __forceinline__ void await_turn() {
  wait_for_earlier_kernels();
  let_next_kernel_begin();
}

/// Whether the code of `kernel` that this device runs was compiled to wait by itself: not so where
/// the driver makes it from the code for older cards. Remembered.
bool waits_by_itself(const void* kernel);

template <class... Parameters, class... Arguments>
void launch_early(Stream stream, const char* name, void (*kernel)(Parameters...), dim3 grid,
                  dim3 threads, size_t shared, Arguments&&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = waits_by_itself(reinterpret_cast<const void*>(kernel)) ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...), name);
}

}  // namespace longhaul::cuda
