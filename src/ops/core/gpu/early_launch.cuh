#pragma once
// Starts kernels while the previous kernel is still ending (programmatic dependent launch). This
// requires compute capability 9.0 and has no effect on older cards. A kernel that is started in
// this way must call wait_for_earlier_kernels() before it ends. This ensures that all earlier
// kernels have ended when a kernel ends. Before this call, the kernel may read only data that the
// previous kernel does not write, such as weights. It may call let_next_kernel_begin() only after
// wait_for_earlier_kernels().

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

/// Calls wait_for_earlier_kernels() and let_next_kernel_begin(), for kernels that have nothing to
/// do before the wait.
__device__ __forceinline__ void await_turn() {
  wait_for_earlier_kernels();
  let_next_kernel_begin();
}

/// Returns whether the machine code of `kernel` on this device contains the wait of
/// wait_for_earlier_kernels(). The wait is missing if the driver compiled the kernel from code for
/// older cards. The result is cached.
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
