#include <utility>

#include "ops/core/gpu/asked_once.h"
#include "ops/core/gpu/early_launch.cuh"

namespace longhaul::cuda {

bool waits_by_itself(const void* kernel) {
  static AskedOnce<std::pair<int, const void*>, bool> answers;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return answers.of({device, kernel}, [&] {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    return attributes.ptxVersion >= 90;
  });
}

}  // namespace longhaul::cuda
