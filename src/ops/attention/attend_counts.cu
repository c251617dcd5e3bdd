// Writes counted lengths (KeySegment::device_count and ::count_after) into a plan in device memory,
// before the attention kernels read it.

#include "ops/attention/attend_kernels.gpu.h"
#include "ops/core/gpu/early_launch.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    resolve_counts(const CountRecord* counts, int count, SegmentRecord* segments, int64_t* pairs) {
  await_turn();
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i >= count) return;
  const int64_t seen = resolve_count(counts[i], segments[counts[i].segment]);
  // Integers: their sum does not depend on the order.
  if (pairs != nullptr && seen != 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(pairs), static_cast<unsigned long long>(seen));
  }
}

}  // namespace

void launch_resolve_counts(CUstream_st* stream, const CountRecord* counts, int count,
                           SegmentRecord* segments, int64_t* pairs) {
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  launch_early(stream, "resolve_counts", resolve_counts, blocks, kThreads, 0, counts, count,
               segments, pairs);
}

}  // namespace longhaul::cuda
