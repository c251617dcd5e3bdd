// Chunk after chunk: a thread block has 32 columns of a value head's state in registers, and reads
// what delta_chunks() has prepared.

#include "base/assert.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/delta/delta_terms.cuh"
#include "ops/delta/delta_tile.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kScanThreads = 256, kColumns = 32;
constexpr int kLong = kDeltaDim + 8, kShort = kDeltaChunk + 8, kThin = kColumns + 8;  // strides

/// Operands of a chunk.
struct ScanStage {
  uint16_t held[kDeltaChunk * kLong], queries[kDeltaChunk * kLong], keys[kDeltaChunk * kLong];
  uint16_t pairs[kDeltaChunk * kShort];
  uint16_t fresh[kDeltaChunk * kThin];
  float decay[kDeltaChunk];
};

template <int kStages>
struct ScanShared {
  ScanStage stages[kStages];
  uint16_t state[kDeltaDim * kThin];
  uint16_t values[kDeltaChunk * kThin];   // new values
  uint16_t decayed[kDeltaChunk * kThin];  // new values, decayed to the end of the chunk
};

struct ScanArgs {
  DeltaSizes s;
  DeltaRoom room;
  int64_t rows;
  const float* before;
  float *after, *out;
};

using ScanSums = float[kColumns / 8][4];

__device__ void copy_stage(const ScanArgs& a, ScanStage& to, int64_t chunk, int head) {
  const int64_t first = chunk * kDeltaChunk, number = chunk * a.s.value_heads + head;
  const int rows = static_cast<int>(min(int64_t{kDeltaChunk}, a.rows - first));
  const uint16_t* const queries =
      a.room.rows + first * a.s.channels + key_head_of(a.s, head) * kDeltaDim;
  copy_tile<kScanThreads>(to.held, kLong, a.room.held + number * kDeltaChunk * kDeltaDim, kDeltaDim,
                          kDeltaChunk, kDeltaDim, kDeltaChunk);
  copy_tile<kScanThreads>(to.queries, kLong, queries, a.s.channels, kDeltaChunk, kDeltaDim, rows);
  copy_tile<kScanThreads>(to.keys, kLong, queries + a.s.keys, a.s.channels, kDeltaChunk, kDeltaDim,
                          rows);
  copy_tile<kScanThreads>(to.pairs, kShort, a.room.pairs + number * kDeltaChunk * kDeltaChunk,
                          kDeltaChunk, kDeltaChunk, kDeltaChunk, kDeltaChunk);
  copy_tile<kScanThreads>(to.fresh, kThin,
                          a.room.fresh + number * kDeltaChunk * kDeltaDim + blockIdx.x * kColumns,
                          kDeltaDim, kDeltaChunk, kColumns, kDeltaChunk);
  if (threadIdx.x < kDeltaChunk / 4) {
    copy_16(shared_address(to.decay + 4 * threadIdx.x),
            a.room.decay + number * kDeltaChunk + 4 * threadIdx.x, true);
  }
  commit_copies();
}

/// c += rows [16, k] from row m on, times right [k, 32].
template <int kDepth>
__device__ void multiply_thin(const uint16_t* left, int stride, int m, const uint16_t* right,
                              int depth, ScanSums& c) {
#pragma unroll
  for (int k = 0; k < kDepth; k += 16) {
    if (k >= depth) break;
    uint32_t a[4];
    load_a(a, left, stride, m, k);
#pragma unroll
    for (int n = 0; n < kColumns; n += 16) {
      uint32_t b[4];
      load_b(b, right, kThin, k, n);
      multiply(c[n / 8], a, b[0], b[1]);
      multiply(c[n / 8 + 1], a, b[2], b[3]);
    }
  }
}

/// New values of 16 rows: those without the state, minus the state's share.
__device__ void write_values(const ScanStage& stage, int m, const ScanSums& held, uint16_t* values,
                             uint16_t* decayed) {
  const int lane = threadIdx.x % 32;
  const float end = stage.decay[kDeltaChunk - 1];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = m + lane / 4 + 8 * half;
    const float factor = __expf(end - stage.decay[row]);
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
      const int at = row * kThin + 8 * n + 2 * (lane % 4);
      const uint32_t pair = *reinterpret_cast<const uint32_t*>(stage.fresh + at);
      const float x = low_of(pair) - held[n][2 * half];
      const float y = high_of(pair) - held[n][2 * half + 1];
      *reinterpret_cast<uint32_t*>(values + at) = bf16_pair(x, y);
      *reinterpret_cast<uint32_t*>(decayed + at) = bf16_pair(x * factor, y * factor);
    }
  }
}

/// Sums of rows over the state before the chunk, as the rows see it.
__device__ void decay_sums(const ScanStage& stage, int m, ScanSums& seen) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float factor = __expf(stage.decay[m + lane / 4 + 8 * half]);
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
      seen[n][2 * half] *= factor;
      seen[n][2 * half + 1] *= factor;
    }
  }
}

__device__ void write_rows_of_chunk(const ScanArgs& a, int64_t first, int head,
                                    const ScanSums& seen) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int64_t row = first + lane / 4 + 8 * half;
    if (row >= a.rows) continue;
    float* const to = a.out + row * a.s.values + head * kDeltaDim + blockIdx.x * kColumns;
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
      *reinterpret_cast<float2*>(to + 8 * n + 2 * (lane % 4)) =
          make_float2(seen[n][2 * half], seen[n][2 * half + 1]);
    }
  }
}

/// The state's 16 rows of this warp in bf16, for products.
__device__ void write_state(const ScanSums& state, int m, uint16_t* to) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < kColumns / 8; ++n) {
    uint16_t* const first = to + (m + lane / 4) * kThin + 8 * n + 2 * (lane % 4);
    *reinterpret_cast<uint32_t*>(first) = bf16_pair(state[n][0], state[n][1]);
    *reinterpret_cast<uint32_t*>(first + 8 * kThin) = bf16_pair(state[n][2], state[n][3]);
  }
}

/// Address of the state's pair of numbers of a fragment, in memory.
__device__ int64_t place_in_state(int head, int m, int n, int half) {
  const int lane = threadIdx.x % 32;
  const int64_t row = int64_t{head} * kDeltaDim + m + lane / 4 + 8 * half;
  return row * kDeltaDim + blockIdx.x * kColumns + 8 * n + 2 * (lane % 4);
}

/// Warps 0 to 3 compute new values of 16 rows each, and warps 4 to 7 what the rows see. Each warp
/// has 16 rows of the state.
template <int kStages>
__global__ void __launch_bounds__(kScanThreads) delta_scan_kernel(ScanArgs a) {
  extern __shared__ __align__(16) unsigned char scan_memory[];
  ScanShared<kStages>& m = *reinterpret_cast<ScanShared<kStages>*>(scan_memory);
  await_turn();
  const int head = blockIdx.y, warp = threadIdx.x / 32;
  const int own = 16 * warp, part = 16 * (warp % 4);
  const bool makes_values = warp < 4;
  const int64_t chunks = (a.rows + kDeltaChunk - 1) / kDeltaChunk;
  ScanSums state;
#pragma unroll
  for (int n = 0; n < kColumns / 8; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float2 pair =
          *reinterpret_cast<const float2*>(a.before + place_in_state(head, own, n, half));
      state[n][2 * half] = pair.x;
      state[n][2 * half + 1] = pair.y;
    }
  }
  write_state(state, own, m.state);
  copy_stage(a, m.stages[0], 0, head);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    wait_copies<0>();
    __syncthreads();  // the operands and the state are there
    const ScanStage& stage = m.stages[chunk % kStages];
    if (kStages > 1 && chunk + 1 < chunks) {
      copy_stage(a, m.stages[(chunk + 1) % kStages], chunk + 1, head);
    }
    ScanSums sums = {};
    multiply_thin<kDeltaDim>(makes_values ? stage.held : stage.queries, kLong, part, m.state,
                             kDeltaDim, sums);
    if (makes_values) {
      write_values(stage, part, sums, m.values, m.decayed);
    } else {
      decay_sums(stage, part, sums);
    }
    __syncthreads();  // the new values are there, and the state has been read
    const float kept = __expf(stage.decay[kDeltaChunk - 1]);
#pragma unroll
    for (int n = 0; n < kColumns / 8; ++n) {
#pragma unroll
      for (float& x : state[n]) x *= kept;
    }
#pragma unroll
    for (int k = 0; k < kDeltaChunk; k += 16) {
      uint32_t left[4];
      load_a_turned(left, stage.keys, kLong, own, k);
#pragma unroll
      for (int n = 0; n < kColumns; n += 16) {
        uint32_t b[4];
        load_b(b, m.decayed, kThin, k, n);
        multiply(state[n / 8], left, b[0], b[1]);
        multiply(state[n / 8 + 1], left, b[2], b[3]);
      }
    }
    write_state(state, own, m.state);
    if (!makes_values) {
      multiply_thin<kDeltaChunk>(stage.pairs, kShort, part, m.values, part + 16, sums);
      write_rows_of_chunk(a, chunk * kDeltaChunk + part, head, sums);
    }
    if (kStages == 1 && chunk + 1 < chunks) {
      __syncthreads();  // the operands have been read
      copy_stage(a, m.stages[0], chunk + 1, head);
    }
  }
#pragma unroll
  for (int n = 0; n < kColumns / 8; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      *reinterpret_cast<float2*>(a.after + place_in_state(head, own, n, half)) =
          make_float2(state[n][2 * half], state[n][2 * half + 1]);
    }
  }
}

int attribute_of_card(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, attribute, device), "attribute");
  return value;
}

/// Whether a processor has one block, with two stages of operands. More blocks than processors have
/// one stage each, so that two run on a processor.
bool has_two_stages(const DeltaSizes& s) {
  return attribute_of_card(cudaDevAttrMaxSharedMemoryPerBlockOptin) >=
             static_cast<int>(sizeof(ScanShared<2>)) &&
         kDeltaDim / kColumns * s.value_heads <= attribute_of_card(cudaDevAttrMultiProcessorCount);
}

template <int kStages>
void launch_scan(Stream stream, const ScanArgs& args) {
  constexpr int kBytes = sizeof(ScanShared<kStages>);
  const auto kernel = delta_scan_kernel<kStages>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of delta_scan");
  const dim3 grid(kDeltaDim / kColumns, static_cast<unsigned>(args.s.value_heads));
  launch_early(stream, "delta_scan", kernel, grid, kScanThreads, kBytes, args);
}

}  // namespace

void delta_scan(Stream stream, const DeltaSizes& s, const DeltaRoom& room, int64_t rows,
                const float* before, float* after, float* out) {
  LH_ASSERT(s.fast() && rows > 0);
  const ScanArgs args = {s, room, rows, before, after, out};
  static_assert(sizeof(ScanShared<1>) <= 99 * 1024);
  has_two_stages(s) ? launch_scan<2>(stream, args) : launch_scan<1>(stream, args);
}

}  // namespace longhaul::cuda
