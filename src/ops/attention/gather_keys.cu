#include "ops/attention/gather_keys.gpu.h"
#include "ops/attention/key_tile.cuh"
#include "ops/core/gpu/early_launch.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kThreads = 128;

template <int D>
struct GatherShared {
  uint4 keys[kPageRows * kPitch<D> / 16], values[kPageRows * kPitch<D> / 16];
  int32_t offsets[kPageRows];
  GatherRecord record;
};

/// The record of this thread block with the counted lengths.
__device__ __forceinline__ GatherRecord record_of_block(const GatherRecord* records, int count) {
  GatherRecord record = records[number_of_block(records, count, static_cast<int>(blockIdx.x))];
  if (record.device_count != nullptr) record.keys.count = *record.device_count;
  if (record.count_after != nullptr) record.keys.position -= *record.count_after;
  return record;
}

template <int D>
__device__ __forceinline__ void write_rows(uint32_t from, std::byte* to) {
  constexpr int kChunks = D / 8;
  for (int c = threadIdx.x; c < kPageRows * kChunks; c += kThreads) {
    const int n = c / kChunks, chunk = c % kChunks;
    reinterpret_cast<uint4*>(to)[c] =
        load_16(from + static_cast<uint32_t>(n * kPitch<D> + chunk * 16));
  }
}

template <int D>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(const GatherRecord* records, int count, RotationTable rotations) {
  extern __shared__ uint4 memory[];
  auto& shared = *reinterpret_cast<GatherShared<D>*>(memory);
  const int thread = static_cast<int>(threadIdx.x);
  await_turn();
  if (thread == 0) shared.record = record_of_block(records, count);
  __syncthreads();
  const SegmentRecord& s = shared.record.keys;
  const int page = static_cast<int>(blockIdx.x) - shared.record.first_block;
  const int32_t slot = page * kPageRows;
  if (slot >= s.shift + s.count) return;
  const uint32_t keys = shared_address(shared.keys), values = shared_address(shared.values);
  load_tile<D, kPageRows, kThreads>(s, slot, keys, values, thread);
  commit_copies();
  if (thread < kPageRows) shared.offsets[thread] = key_offset(s, slot + thread, s.position);
  wait_copies<0>();
  __syncthreads();
  if (s.rotate) {
    rotate_tile<D, kPageRows, kThreads>(rotations, keys, shared.offsets, s.position, thread);
    __syncthreads();
  }
  std::byte* const to = shared.record.to[page];
  write_rows<D>(keys, to);
  write_rows<D>(values, to + kPageRows * D * 2);
}

template <int D>
void launch(CUstream_st* stream, const GatherRecord* records, int count, int blocks,
            const RotationTable& rotations) {
  constexpr int kBytes = sizeof(GatherShared<D>);
  static_assert(kBytes <= 99 * 1024);  // shared memory of the smallest cards (sm_86, 89 and 120)
  check(cudaFuncSetAttribute(gather_kernel<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of gather_keys");
  launch_early(stream, "gather_keys", gather_kernel<D>, static_cast<unsigned>(blocks), kThreads,
               kBytes, records, count, rotations);
}

}  // namespace

bool can_gather(int head_dim) {
  return head_dim == 64 || head_dim == 80 || head_dim == 96 || head_dim == 112 || head_dim == 128 ||
         head_dim == 256;
}

void gather_keys(CUstream_st* stream, const GatherRecord* records, int count, int blocks,
                 int head_dim, const RotationTable& rotations) {
  with_head_dim(head_dim,
                [&](auto dim) { launch<dim()>(stream, records, count, blocks, rotations); });
}

}  // namespace longhaul::cuda
