#include <map>
#include <mutex>
#include <utility>

#include "ops/cuda/early_launch.cuh"

namespace longhaul::cuda {

bool waits_by_itself(const void* kernel) {
  static std::mutex mutex;
  static std::map<std::pair<int, const void*>, bool> known;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  const std::lock_guard lock(mutex);
  const auto [entry, fresh] = known.try_emplace({device, kernel}, false);
  if (fresh) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel), "cudaFuncGetAttributes");
    entry->second = attributes.ptxVersion >= 90;
  }
  return entry->second;
}

}  // namespace longhaul::cuda
