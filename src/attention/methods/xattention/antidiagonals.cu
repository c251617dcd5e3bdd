#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>

#include "attention/methods/xattention/antidiagonals.gpu.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/mma.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 256;

/// There is one thread per eight elements. `each` is the number of threads per vector.
__global__ void __launch_bounds__(kThreads)
    lay_out_kernel(const float4* q, int64_t pieces, int stride, int heads, int each, uint4* out) {
  const int64_t i = blockIdx.x * int64_t{kThreads} + threadIdx.x;
  if (i >= pieces) return;
  const int64_t vector = i / each, row = vector / stride;  // row: [groups, heads]
  const int64_t from = row / heads * stride + (stride - 1 - vector % stride);
  const float4* const eight = q + 2 * ((from * heads + row % heads) * each + i % each);
  const float4 a = __ldg(eight), b = __ldg(eight + 1);
  out[i] = {bf16_pair(a.x, a.y), bf16_pair(a.z, a.w), bf16_pair(b.x, b.y), bf16_pair(b.z, b.w)};
}

/// Selects blocks, with one thread block per query head (x), tile (y) and KV head (z).
__global__ void __launch_bounds__(kBlockThreads, 2)
    choose_antidiagonals_kernel(const AntidiagonalTask* tasks) {
  __shared__ AntidiagonalShared shared;
  const AntidiagonalTask& task = tasks[blockIdx.z];
  const int head = static_cast<int>(blockIdx.x);
  if (head < task.head_count) {
    choose_antidiagonals(CudaBlock{}, shared, task, head, int64_t{blockIdx.y});
  }
}

}  // namespace

void lay_out_groups(Stream stream, const float* q, int64_t groups, int stride, int heads,
                    int head_dim, uint16_t* out) {
  const int64_t pieces = groups * stride * heads * head_dim / 8;
  if (pieces == 0) return;
  const auto blocks = static_cast<unsigned>((pieces + kThreads - 1) / kThreads);
  lay_out_kernel<<<blocks, kThreads, 0, stream>>>(reinterpret_cast<const float4*>(q), pieces,
                                                  stride, heads, head_dim / 8,
                                                  reinterpret_cast<uint4*>(out));
  check_launch("lay_out_groups");
}

void choose_antidiagonals(Stream stream, std::span<AntidiagonalTask> tasks, ScoreScratch& scratch) {
  if (tasks.empty()) return;
  int64_t numbers = 0, heads = 0;
  int32_t most_heads = 0;
  for (const AntidiagonalTask& task : tasks) {
    numbers += task.head_count * task.tiles * task.columns;
    heads += task.head_count;
    most_heads = std::max(most_heads, task.head_count);
  }
  auto* room =
      reinterpret_cast<float*>(scratch.room(2 * static_cast<size_t>(numbers) * sizeof(float)));
  const size_t shares = static_cast<size_t>(heads) * sizeof(double);
  const ScoreScratch::Plan plan = scratch.begin(shares + tasks.size_bytes());
  std::byte *host = plan.host, *there = plan.device;
  for (AntidiagonalTask& task : tasks) {
    const int64_t each = task.head_count * task.tiles * task.columns;
    const size_t bytes = static_cast<size_t>(task.head_count) * sizeof(double);
    std::memcpy(host, task.shares, bytes);
    task.shares = reinterpret_cast<const double*>(there);
    task.scores = room;
    task.chosen = reinterpret_cast<int32_t*>(room + each);
    room += 2 * each;
    host += bytes;
    there += bytes;
  }
  std::memcpy(host, tasks.data(), tasks.size_bytes());
  scratch.send(stream, plan);
  const dim3 grid(static_cast<unsigned>(most_heads), static_cast<unsigned>(tasks.front().count()),
                  static_cast<unsigned>(tasks.size()));
  choose_antidiagonals_kernel<<<grid, kBlockThreads, 0, stream>>>(
      reinterpret_cast<const AntidiagonalTask*>(there));
  check_launch("choose_antidiagonals");
}

}  // namespace longhaul::cuda
