// The inverse of the system of new values of 64 rows, and its products with keys and values, for
// all chunks of 64 rows and all value heads at once.

#include "base/assert.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/delta/delta_terms.cuh"
#include "ops/delta/delta_tile.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kChunkThreads = 128;
constexpr int kWide = kDeltaDim + 8;      // stride of tiles [64, 128]
constexpr int kNarrow = kDeltaChunk + 8;  // stride of tiles [64, 64] in bf16
constexpr int kSystem = kDeltaChunk + 4;  // and in f32
constexpr int kBlock = 16;                // rows that are solved one after another
constexpr int kBlocks = kDeltaChunk / kBlock;

struct ChunkShared {
  uint16_t keys[kDeltaChunk * kWide];
  uint16_t others[kDeltaChunk * kWide];  // queries, then values
  /// Blocks below the diagonal: the system L. On the diagonal and, at (j, i) for i > j, above it:
  /// blocks (i, j) of the inverse of I + L.
  float system[kDeltaChunk * kSystem];
  uint16_t of_keys[kDeltaChunk * kNarrow], of_values[kDeltaChunk * kNarrow];
  float products[3 * kBlock * kBlock];
  float sum[kDeltaChunk], beta[kDeltaChunk];
};

/// Decays and shares of the rows. Rows past the last one change nothing.
__device__ void read_factors(const DeltaSizes& s, const DeltaAddresses& at, int64_t first, int rows,
                             int head, ChunkShared& m) {
  const int lane = threadIdx.x;
  if (lane >= 32) return;
  float own[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = 2 * lane + half;
    const bool present = row < rows;
    own[half] = present ? log_decay(at, s, first + row, head) : 0.0f;
    m.beta[row] = present ? share_of(at, s, first + row, head) : 0.0f;
  }
  float sum = own[0] + own[1];
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    const float before = __shfl_up_sync(~0u, sum, d);
    if (lane >= d) sum += before;
  }
  m.sum[2 * lane] = sum - own[1];
  m.sum[2 * lane + 1] = sum;
}

/// Products of this warp's 16 rows of `rows` with all keys up to its last row.
__device__ void multiply_keys(const uint16_t* rows, const uint16_t* keys, int warp,
                              float (&c)[kDeltaChunk / 8][4]) {
#pragma unroll
  for (int k = 0; k < kDeltaDim; k += 16) {
    uint32_t a[4];
    load_a(a, rows, kWide, 16 * warp, k);
#pragma unroll
    for (int n = 0; n < kBlocks; ++n) {
      if (n > warp) break;
      uint32_t b[4];
      load_b_turned(b, keys, kWide, k, 16 * n);
      multiply(c[2 * n], a, b[0], b[1]);
      multiply(c[2 * n + 1], a, b[2], b[3]);
    }
  }
}

/// Writes exp(sum_i - sum_j) q_i k_j for j <= i, else 0.
__device__ void write_pairs(const ChunkShared& m, int warp, const float (&c)[kDeltaChunk / 8][4],
                            uint16_t* to) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < kDeltaChunk / 8; ++n) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = 16 * warp + lane / 4 + 8 * half, j = 8 * n + 2 * (lane % 4);
      const float x = j <= i ? c[n][2 * half] * __expf(m.sum[i] - m.sum[j]) : 0.0f;
      const float y = j + 1 <= i ? c[n][2 * half + 1] * __expf(m.sum[i] - m.sum[j + 1]) : 0.0f;
      *reinterpret_cast<uint32_t*>(to + i * kDeltaChunk + j) = bf16_pair(x, y);
    }
  }
}

/// Writes beta_i exp(sum_i - sum_j) k_i k_j for j < i, else 0.
__device__ void write_system(ChunkShared& m, int warp, const float (&c)[kDeltaChunk / 8][4]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < kDeltaChunk / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int i = 16 * warp + lane / 4 + e / 2 * 8, j = 8 * n + 2 * (lane % 4) + e % 2;
      m.system[i * kSystem + j] = j < i ? m.beta[i] * c[n][e] * __expf(m.sum[i] - m.sum[j]) : 0.0f;
    }
  }
}

/// Inverts this warp's block of I + L on the diagonal, a column per lane.
__device__ void invert_diagonal(ChunkShared& m, int warp) {
  const int lane = threadIdx.x % 32, column = lane % kBlock;
  float* const block = m.system + kBlock * warp * (kSystem + 1);
  float x[kBlock];
#pragma unroll
  for (int i = 0; i < kBlock; ++i) {
    x[i] = i == column ? 1.0f : 0.0f;
#pragma unroll
    for (int j = 0; j < i; ++j) x[i] -= block[i * kSystem + j] * x[j];
  }
  __syncwarp();
  if (lane >= kBlock) return;
#pragma unroll
  for (int i = 0; i < kBlock; ++i) block[i * kSystem + column] = x[i];
}

/// The other blocks of the inverse, by their distance from the diagonal: T_ij = -T_ii times the sum
/// over k from j to i - 1 of L_ik T_kj. All threads call it.
__device__ void invert_others(ChunkShared& m) {
  const auto block = [&](int i, int j) { return m.system + kBlock * (i * kSystem + j); };
  for (int distance = 1; distance < kBlocks; ++distance) {
    const int numbers = (kBlocks - distance) * kBlock * kBlock;
    __syncthreads();
    for (int at = threadIdx.x; at < numbers; at += kChunkThreads) {
      const int j = at / (kBlock * kBlock), i = j + distance;
      const int row = at / kBlock % kBlock, column = at % kBlock;
      float sum = 0;
      for (int k = j; k < i; ++k) {
        const float* const left = block(i, k) + row * kSystem;
        const float* const right = block(j, k) + column;  // T_kj lies at (j, k)
#pragma unroll
        for (int e = 0; e < kBlock; ++e) sum += left[e] * right[e * kSystem];
      }
      m.products[at] = sum;
    }
    __syncthreads();
    for (int at = threadIdx.x; at < numbers; at += kChunkThreads) {
      const int j = at / (kBlock * kBlock), i = j + distance;
      const int row = at / kBlock % kBlock, column = at % kBlock;
      const float* const left = block(i, i) + row * kSystem;
      const float* const right = m.products + j * kBlock * kBlock + column;
      float sum = 0;
#pragma unroll
      for (int e = 0; e < kBlock; ++e) sum += left[e] * right[e * kBlock];
      block(j, i)[row * kSystem + column] = -sum;
    }
  }
  __syncthreads();
}

/// The inverse in bf16, with the factors of keys and of values.
__device__ void write_inverse(ChunkShared& m) {
  for (int at = threadIdx.x; at < kDeltaChunk * kDeltaChunk; at += kChunkThreads) {
    const int row = at / kDeltaChunk, column = at % kDeltaChunk;
    const int i = row / kBlock, j = column / kBlock;
    float x = 0;
    if (column <= row) {
      x = m.system[(j * kBlock + row % kBlock) * kSystem + i * kBlock + column % kBlock] *
          m.beta[column];
    }
    const float of_keys = x * __expf(m.sum[column]);
    m.of_values[row * kNarrow + column] = static_cast<uint16_t>(bf16_pair(x, 0.0f));
    m.of_keys[row * kNarrow + column] = static_cast<uint16_t>(bf16_pair(of_keys, 0.0f));
  }
}

/// This warp's 16 rows of left [64, 64] times right [64, 128], for a lower triangular left.
__device__ void multiply_wide(const uint16_t* left, const uint16_t* right, int warp,
                              uint32_t (&pairs)[kDeltaDim / 8][2]) {
  float c[kDeltaDim / 8][4] = {};
  for (int k = 0; k <= 16 * warp; k += 16) {
    uint32_t a[4];
    load_a(a, left, kNarrow, 16 * warp, k);
#pragma unroll
    for (int n = 0; n < kDeltaDim; n += 16) {
      uint32_t b[4];
      load_b(b, right, kWide, k, n);
      multiply(c[n / 8], a, b[0], b[1]);
      multiply(c[n / 8 + 1], a, b[2], b[3]);
    }
  }
#pragma unroll
  for (int n = 0; n < kDeltaDim / 8; ++n) {
    pairs[n][0] = bf16_pair(c[n][0], c[n][1]);
    pairs[n][1] = bf16_pair(c[n][2], c[n][3]);
  }
}

__device__ void keep_wide(uint16_t* tile, int warp, const uint32_t (&pairs)[kDeltaDim / 8][2]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int n = 0; n < kDeltaDim / 8; ++n) {
    uint16_t* const to = tile + (16 * warp + lane / 4) * kWide + 8 * n + 2 * (lane % 4);
    *reinterpret_cast<uint32_t*>(to) = pairs[n][0];
    *reinterpret_cast<uint32_t*>(to + 8 * kWide) = pairs[n][1];
  }
}

/// All threads call it.
__device__ void write_wide(const uint16_t* tile, uint16_t* to) {
  for (int i = threadIdx.x; i < kDeltaChunk * kDeltaDim / 8; i += kChunkThreads) {
    const int row = i / (kDeltaDim / 8), column = i % (kDeltaDim / 8) * 8;
    *reinterpret_cast<uint4*>(to + row * kDeltaDim + column) =
        load_16(shared_address(tile + row * kWide + column));
  }
}

__global__ void __launch_bounds__(kChunkThreads)
    delta_chunks_kernel(DeltaSizes s, DeltaAddresses at, int64_t all_rows, DeltaRoom room) {
  extern __shared__ __align__(16) unsigned char chunk_memory[];
  ChunkShared& m = *reinterpret_cast<ChunkShared*>(chunk_memory);
  await_turn();
  const int head = blockIdx.x, warp = threadIdx.x / 32;
  const int64_t first = int64_t{blockIdx.y} * kDeltaChunk;
  const int64_t number = int64_t{blockIdx.y} * s.value_heads + head;
  const int rows = static_cast<int>(min(int64_t{kDeltaChunk}, all_rows - first));
  const uint16_t* const queries = room.rows + first * s.channels + key_head_of(s, head) * kDeltaDim;
  copy_tile<kChunkThreads>(m.keys, kWide, queries + s.keys, s.channels, kDeltaChunk, kDeltaDim,
                           rows);
  copy_tile<kChunkThreads>(m.others, kWide, queries, s.channels, kDeltaChunk, kDeltaDim, rows);
  commit_copies();
  read_factors(s, at, first, rows, head, m);
  wait_copies<0>();
  __syncthreads();
  {
    float c[kDeltaChunk / 8][4] = {};
    multiply_keys(m.others, m.keys, warp, c);
    write_pairs(m, warp, c, room.pairs + number * kDeltaChunk * kDeltaChunk);
  }
  __syncthreads();  // the queries have been read
  copy_tile<kChunkThreads>(m.others, kWide,
                           room.rows + first * s.channels + 2 * s.keys + head * kDeltaDim,
                           s.channels, kDeltaChunk, kDeltaDim, rows);
  commit_copies();
  {
    float c[kDeltaChunk / 8][4] = {};
    multiply_keys(m.keys, m.keys, warp, c);
    write_system(m, warp, c);
  }
  if (threadIdx.x < kDeltaChunk)
    room.decay[number * kDeltaChunk + threadIdx.x] = m.sum[threadIdx.x];
  __syncwarp();
  invert_diagonal(m, warp);
  invert_others(m);
  write_inverse(m);
  wait_copies<0>();
  __syncthreads();
  uint32_t pairs[kDeltaDim / 8][2];
  multiply_wide(m.of_keys, m.keys, warp, pairs);
  __syncthreads();
  keep_wide(m.keys, warp, pairs);
  multiply_wide(m.of_values, m.others, warp, pairs);
  __syncthreads();
  keep_wide(m.others, warp, pairs);
  __syncthreads();
  write_wide(m.keys, room.held + number * kDeltaChunk * kDeltaDim);
  write_wide(m.others, room.fresh + number * kDeltaChunk * kDeltaDim);
}

}  // namespace

DeltaRoom DeltaRoom::in(void* memory, const DeltaSizes& s, int64_t rows) {
  const int64_t chunks = (rows + kDeltaChunk - 1) / kDeltaChunk * s.value_heads;
  DeltaRoom room;
  room.decay = static_cast<float*>(memory);
  room.rows = reinterpret_cast<uint16_t*>(room.decay + chunks * kDeltaChunk);
  room.held = room.rows + rows * s.channels;
  room.fresh = room.held + chunks * kDeltaChunk * kDeltaDim;
  room.pairs = room.fresh + chunks * kDeltaChunk * kDeltaDim;
  return room;
}

void delta_chunks(Stream stream, const DeltaSizes& s, const DeltaAddresses& at, int64_t rows,
                  const DeltaRoom& room) {
  LH_ASSERT(s.fast() && rows > 0);
  constexpr int kBytes = sizeof(ChunkShared);
  static_assert(kBytes <= 99 * 1024);
  check(cudaFuncSetAttribute(delta_chunks_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             kBytes),
        "shared memory of delta_chunks");
  const dim3 grid(static_cast<unsigned>(s.value_heads),
                  static_cast<unsigned>((rows + kDeltaChunk - 1) / kDeltaChunk));
  launch_early(stream, "delta_chunks", delta_chunks_kernel, grid, kChunkThreads, kBytes, s, at,
               rows, room);
}

}  // namespace longhaul::cuda
