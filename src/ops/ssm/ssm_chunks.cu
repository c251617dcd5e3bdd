// Mamba-2 heads chunk after chunk (Dao and Gu 2024, arXiv:2405.21060, section 6). A thread block
// has 64 elements of a head of one task, and their state in registers. Products have bf16 operands
// and f32 sums.

#include "base/assert.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/in_launches.cuh"
#include "ops/delta/delta_tile.cuh"
#include "ops/ssm/ssm.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kChunkRows = 64, kChunkColumns = 64;  // rows of a chunk, elements of a block
constexpr int kChunkedThreads = 256;                // a warp has 16 numbers of the state
constexpr int kWideRow = kSsmChunkState + 8, kNarrowRow = kChunkColumns + 8;  // strides
static_assert(kChunkedThreads / 32 * 16 == kSsmChunkState);

/// B, C and x of a chunk. Rows behind the last one are zeros.
struct ChunkOperands {
  uint16_t b[kChunkRows * kWideRow], c[kChunkRows * kWideRow];
  uint16_t x[kChunkRows * kNarrowRow];
};

template <int kStages>
struct ChunkShared {
  ChunkOperands stages[kStages];
  uint16_t state[kSsmChunkState * kNarrowRow];  // before the chunk
  uint16_t pairs[kChunkRows * kNarrowRow];      // weights of the rows that each row sees
  uint16_t scaled[kChunkRows * kNarrowRow];     // x, as it remains at the end of the chunk
  float dt[2][kChunkRows];
  float decay[2][kChunkRows];  // logarithms, from the beginning of the chunk to each row
};

/// A thread block has some elements of a head of one task.
struct ChunkedPart {
  RecurrentRows task;
  int head, group, column;  ///< `column` is the first element
  int columns;              ///< at most kChunkColumns; the others are zeros
};

using HalfSums = float[kChunkColumns / 16][4];  ///< 16 rows and 32 elements
using StateSums = float[kChunkColumns / 8][4];  ///< 16 numbers of the state and 64 elements

__device__ void copy_operands(const SsmSizes& s, const ChunkedPart& part, const uint16_t* convolved,
                              int64_t first, ChunkOperands& to) {
  const int count = static_cast<int>(min(int64_t{kChunkRows}, part.task.rows - first));
  const uint16_t* const rows = convolved + (part.task.first + first) * s.channels;
  const uint16_t* const b = rows + s.inner + part.group * kSsmChunkState;
  copy_tile<kChunkedThreads>(to.b, kWideRow, b, s.channels, kChunkRows, kSsmChunkState, count);
  copy_tile<kChunkedThreads>(to.c, kWideRow, b + s.groups * kSsmChunkState, s.channels, kChunkRows,
                             kSsmChunkState, count);
  const uint16_t* const x = rows + part.head * s.head_dim + part.column;
  constexpr int kPieces = kChunkColumns / 8;
  for (int i = threadIdx.x; i < kChunkRows * kPieces; i += kChunkedThreads) {
    const int row = i / kPieces, column = i % kPieces * 8;
    const bool present = row < count && column < part.columns;
    copy_16(shared_address(to.x + row * kNarrowRow + column),
            present ? x + int64_t{row} * s.channels + column : rows, present);
  }
  commit_copies();
}

/// Time steps and decays of a chunk, by the first warp. A lane has two rows, of which `steps` are
/// the projected time steps. Rows from `count` on change nothing.
__device__ void set_steps(const SsmSizes& s, float2 steps, int count, float dt_bias, float rate,
                          float* dt, float* decay) {
  const int row = 2 * static_cast<int>(threadIdx.x);
  const auto softplus = [&](float step) {
    const float x = s.step_scale * step + dt_bias;
    return x > 20.0f ? x : log1pf(expf(x));
  };
  const float first = row < count ? softplus(steps.x) : 0.0f;
  const float second = row + 1 < count ? softplus(steps.y) : 0.0f;
  const float own = rate * first + rate * second;
  float sum = own;  // becomes the sum up to this lane's last row
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const float before = __shfl_up_sync(~0u, sum, step);
    if (threadIdx.x >= step) sum += before;
  }
  dt[row] = first;
  dt[row + 1] = second;
  decay[row] = sum - rate * second;
  decay[row + 1] = sum;
}

/// c += rows [16, depth] of `left` from row m on, times columns [n, n + 32) of `right`.
template <int kDepth>
__device__ __forceinline__ void multiply_half(const uint16_t* left, int stride, int m,
                                              const uint16_t* right, int n, int depth,
                                              HalfSums& c) {
#pragma unroll
  for (int k = 0; k < kDepth; k += 16) {
    if (k >= depth) break;
    uint32_t a[4];
    load_a(a, left, stride, m, k);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      uint32_t b[4];
      load_b(b, right, kNarrowRow, k, n + 16 * i);
      multiply(c[2 * i], a, b[0], b[1]);
      multiply(c[2 * i + 1], a, b[2], b[3]);
    }
  }
}

/// Writes the weights of rows n to n + 31 in rows m to m + 15: products of C and B, decayed, times
/// the time step. Rows do not see later ones.
__device__ void write_pairs(const ChunkOperands& stage, const float* dt, const float* decay, int m,
                            int n, uint16_t* pairs) {
  HalfSums sums = {};
  if (n < m + 16) {
#pragma unroll
    for (int k = 0; k < kSsmChunkState; k += 16) {
      uint32_t a[4];
      load_a(a, stage.c, kWideRow, m, k);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        uint32_t b[4];
        load_b_turned(b, stage.b, kWideRow, k, n + 16 * i);
        multiply(sums[2 * i], a, b[0], b[1]);
        multiply(sums[2 * i + 1], a, b[2], b[3]);
      }
    }
  }
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = m + lane / 4 + 8 * half;
    const auto weight = [&](int seen, float product) {
      return seen <= row ? product * __expf(decay[row] - decay[seen]) * dt[seen] : 0.0f;
    };
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const int seen = n + 8 * t + 2 * (lane % 4);
      *reinterpret_cast<uint32_t*>(pairs + row * kNarrowRow + seen) =
          bf16_pair(weight(seen, sums[t][2 * half]), weight(seen + 1, sums[t][2 * half + 1]));
    }
  }
}

__device__ void write_scaled(const ChunkOperands& stage, const float* dt, const float* decay,
                             uint16_t* scaled) {
  const float end = decay[kChunkRows - 1];
  for (int i = threadIdx.x; i < kChunkRows * kChunkColumns / 2; i += kChunkedThreads) {
    const int row = i / (kChunkColumns / 2), at = row * kNarrowRow + i % (kChunkColumns / 2) * 2;
    const float share = __expf(end - decay[row]) * dt[row];
    const uint32_t pair = *reinterpret_cast<const uint32_t*>(stage.x + at);
    *reinterpret_cast<uint32_t*>(scaled + at) =
        bf16_pair(low_of(pair) * share, high_of(pair) * share);
  }
}

/// Rows m to m + 15 and elements n to n + 31 of the output. `first` is the chunk's first row.
__device__ void write_outputs(const SsmSizes& s, const SsmAddresses& at, const ChunkedPart& part,
                              int64_t first, const ChunkOperands& stage, int m, int n, float skip,
                              const HalfSums& sums) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = m + lane / 4 + 8 * half;
    if (first + row >= part.task.rows) continue;
    float* const to =
        at.out + (part.task.first + first + row) * s.inner + part.head * s.head_dim + part.column;
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      const int column = n + 8 * t + 2 * (lane % 4);
      if (column >= part.columns) continue;
      const uint32_t x = *reinterpret_cast<const uint32_t*>(stage.x + row * kNarrowRow + column);
      *reinterpret_cast<float2*>(to + column) = make_float2(
          sums[t][2 * half] + skip * low_of(x), sums[t][2 * half + 1] + skip * high_of(x));
    }
  }
}

/// The state's 16 numbers of this warp in bf16, for products.
__device__ void write_operand(const StateSums& state, int m, uint16_t* to) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int t = 0; t < kChunkColumns / 8; ++t) {
    uint16_t* const first = to + (m + lane / 4) * kNarrowRow + 8 * t + 2 * (lane % 4);
    *reinterpret_cast<uint32_t*>(first) = bf16_pair(state[t][0], state[t][1]);
    *reinterpret_cast<uint32_t*>(first + 8 * kNarrowRow) = bf16_pair(state[t][2], state[t][3]);
  }
}

/// Calls f(pair of numbers, their place in a state) for the pairs of a fragment whose elements
/// exist.
template <class F>
__device__ __forceinline__ void for_each_pair(const SsmSizes& s, const ChunkedPart& part, int m,
                                              F&& f) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int t = 0; t < kChunkColumns / 8; ++t) {
    const int column = 8 * t + 2 * (lane % 4);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t number = int64_t{part.head} * kSsmChunkState + m + lane / 4 + 8 * half;
      if (column < part.columns) {
        f(t, half, s.history + number * s.head_dim + part.column + column);
      }
    }
  }
}

/// blockIdx.x: a head and kChunkColumns of its elements, blockIdx.y: a task. A warp has 16 rows and
/// half of the elements of the output, and 16 numbers of the state.
template <int kStages>
__global__ void __launch_bounds__(kChunkedThreads)
    ssm_chunks_kernel(SsmSizes s, SsmAddresses at, const uint16_t* convolved,
                      const __grid_constant__ Records<RecurrentRows> tasks) {
  extern __shared__ __align__(16) unsigned char chunk_memory[];
  auto& m = *reinterpret_cast<ChunkShared<kStages>*>(chunk_memory);
  await_turn();
  const int tiles = (s.head_dim + kChunkColumns - 1) / kChunkColumns;
  const int head = blockIdx.x / tiles, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int column = static_cast<int>(blockIdx.x) % tiles * kChunkColumns;
  const ChunkedPart part{tasks.each[blockIdx.y], head, head / s.heads_of_group, column,
                         min(kChunkColumns, s.head_dim - column)};
  const int64_t rows = part.task.rows;
  const int own = 16 * warp, row = 16 * (warp % 4), half = 32 * (warp / 4);
  const float rate = at.rate[head], dt_bias = at.dt_bias[head], skip = at.skip[head];
  // The first warp has the projected time steps of two rows per lane.
  const auto steps_of = [&](int64_t first) {
    const float* const steps = at.steps + part.task.first * at.step_stride + head;
    const int64_t r = first + 2 * threadIdx.x;
    return warp > 0 ? float2{}
                    : float2{r < rows ? steps[r * at.step_stride] : 0.0f,
                             r + 1 < rows ? steps[(r + 1) * at.step_stride] : 0.0f};
  };
  const auto set_steps_of = [&](int64_t first, float2 steps, int set) {
    if (warp > 0) return;
    const auto count = static_cast<int>(min(int64_t{kChunkRows}, rows - first));
    set_steps(s, steps, count, dt_bias, rate, m.dt[set], m.decay[set]);
  };
  copy_operands(s, part, convolved, 0, m.stages[0]);
  set_steps_of(0, steps_of(0), 0);
  StateSums state = {};
  for_each_pair(s, part, own, [&](int t, int lower, int64_t place) {
    const float2 pair = *reinterpret_cast<const float2*>(part.task.before + place);
    state[t][2 * lower] = pair.x;
    state[t][2 * lower + 1] = pair.y;
  });
  write_operand(state, own, m.state);
  int set = 0;
  for (int64_t first = 0; first < rows; first += kChunkRows, set ^= 1) {
    wait_copies<0>();
    __syncthreads();  // barrier: operands, time steps and the state are there
    const ChunkOperands& stage = m.stages[kStages > 1 ? set : 0];
    const int64_t next = first + kChunkRows;
    float2 steps{};
    if (next < rows) {
      if constexpr (kStages > 1) copy_operands(s, part, convolved, next, m.stages[set ^ 1]);
      steps = steps_of(next);
    }
    const float *const dt = m.dt[set], *const decay = m.decay[set];
    write_pairs(stage, dt, decay, row, half, m.pairs);
    write_scaled(stage, dt, decay, m.scaled);
    __syncthreads();  // barrier: pairs and scaled rows are there
    HalfSums sums = {};
    multiply_half<kSsmChunkState>(stage.c, kWideRow, row, m.state, half, kSsmChunkState, sums);
    const float factors[] = {__expf(decay[row + lane / 4]), __expf(decay[row + lane / 4 + 8])};
#pragma unroll
    for (int t = 0; t < 4; ++t) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[t][i] *= factors[i / 2];
    }
    multiply_half<kChunkRows>(m.pairs, kNarrowRow, row, stage.x, half, row + 16, sums);
    write_outputs(s, at, part, first, stage, row, half, skip, sums);
    const float kept = __expf(decay[kChunkRows - 1]);
#pragma unroll
    for (int t = 0; t < kChunkColumns / 8; ++t) {
#pragma unroll
      for (float& x : state[t]) x *= kept;
    }
#pragma unroll
    for (int k = 0; k < kChunkRows; k += 16) {
      uint32_t a[4];
      load_a_turned(a, stage.b, kWideRow, own, k);
#pragma unroll
      for (int i = 0; i < kChunkColumns / 16; ++i) {
        uint32_t b[4];
        load_b(b, m.scaled, kNarrowRow, k, 16 * i);
        multiply(state[2 * i], a, b[0], b[1]);
        multiply(state[2 * i + 1], a, b[2], b[3]);
      }
    }
    if (next >= rows) break;
    __syncthreads();  // barrier: everything has been read
    write_operand(state, own, m.state);
    set_steps_of(next, steps, set ^ 1);
    if constexpr (kStages == 1) copy_operands(s, part, convolved, next, m.stages[0]);
  }
  for_each_pair(s, part, own, [&](int t, int lower, int64_t place) {
    *reinterpret_cast<float2*>(part.task.after + place) =
        make_float2(state[t][2 * lower], state[t][2 * lower + 1]);
  });
}

int card_attribute(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  check(cudaDeviceGetAttribute(&value, attribute, device), "attribute");
  return value;
}

/// Whether a processor has one block, with two stages of operands. More blocks than processors have
/// one stage each, so that two run on a processor.
bool has_two_chunk_stages(int64_t blocks) {
  return card_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) >=
             static_cast<int>(sizeof(ChunkShared<2>)) &&
         blocks <= card_attribute(cudaDevAttrMultiProcessorCount);
}

template <int kStages>
void launch_chunks(Stream stream, const SsmSizes& s, const SsmAddresses& at,
                   std::span<const RecurrentRows> tasks, const uint16_t* convolved, int across) {
  constexpr int kBytes = sizeof(ChunkShared<kStages>);
  const auto kernel = ssm_chunks_kernel<kStages>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of ssm_chunks");
  in_launches(tasks, "ssm_chunks", [&](const Records<RecurrentRows>& some, unsigned count) {
    launch_early(stream, "ssm_chunks", kernel, dim3(static_cast<unsigned>(across), count),
                 kChunkedThreads, kBytes, s, at, convolved, some);
  });
}

}  // namespace

void ssm_chunks(Stream stream, const SsmSizes& sizes, const SsmAddresses& at,
                std::span<const RecurrentRows> tasks, const uint16_t* convolved) {
  LH_ASSERT(sizes.has_chunks());
  static_assert(sizeof(ChunkShared<1>) <= 99 * 1024);  // shared memory of the smallest cards
  const int across = sizes.heads * ((sizes.head_dim + kChunkColumns - 1) / kChunkColumns);
  if (has_two_chunk_stages(across * std::ssize(tasks))) {
    return launch_chunks<2>(stream, sizes, at, tasks, convolved, across);
  }
  launch_chunks<1>(stream, sizes, at, tasks, convolved, across);
}

}  // namespace longhaul::cuda
