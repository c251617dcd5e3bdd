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
constexpr int kNarrowRow = kChunkColumns + 8;       // stride

/// Sizes for states of kNumbers numbers. A warp has 16 numbers of the state, and 16 rows and some
/// columns of other products.
template <int kNumbers>
struct Chunked {
  static constexpr int kState = kNumbers;
  static constexpr int kThreads = kNumbers / 16 * 32;
  static constexpr int kColumns = kChunkColumns / (kNumbers / 64);  ///< columns of a warp
  static constexpr int kWideRow = kNumbers + 8;                     ///< stride
  using Sums = float[kColumns / 8][4];
};

/// B, C and x of a chunk. Rows behind the last one are zeros.
template <class Of>
struct ChunkOperands {
  uint16_t b[kChunkRows * Of::kWideRow], c[kChunkRows * Of::kWideRow];
  uint16_t x[kChunkRows * kNarrowRow];
};

template <class Of, int kStages>
struct ChunkShared {
  ChunkOperands<Of> stages[kStages];
  uint16_t state[Of::kState * kNarrowRow];   // before the chunk
  uint16_t pairs[kChunkRows * kNarrowRow];   // weights of the rows that each row sees
  uint16_t scaled[kChunkRows * kNarrowRow];  // x, as it remains at the end of the chunk
  float dt[2][kChunkRows];
  float decay[2][kChunkRows];  // logarithms, from the beginning of the chunk to each row
};

/// A thread block has some elements of a head of one task.
struct ChunkedPart {
  RecurrentRows task;
  int head, group, column;  ///< `column` is the first element
  int columns;              ///< at most kChunkColumns; the others are zeros
};

using StateSums = float[kChunkColumns / 8][4];  ///< 16 numbers of the state and 64 elements

template <class Of>
__device__ void copy_operands(const SsmSizes& s, const ChunkedPart& part, const uint16_t* convolved,
                              int64_t first, ChunkOperands<Of>& to) {
  constexpr int kThreads = Of::kThreads, kState = Of::kState;
  const int count = static_cast<int>(min(int64_t{kChunkRows}, part.task.rows - first));
  const uint16_t* const rows = convolved + (part.task.first + first) * s.channels;
  const uint16_t* const b = rows + s.inner + part.group * kState;
  copy_tile<kThreads>(to.b, Of::kWideRow, b, s.channels, kChunkRows, kState, count);
  copy_tile<kThreads>(to.c, Of::kWideRow, b + s.groups * kState, s.channels, kChunkRows, kState,
                      count);
  const uint16_t* const x = rows + part.head * s.head_dim + part.column;
  constexpr int kPieces = kChunkColumns / 8;
  for (int i = threadIdx.x; i < kChunkRows * kPieces; i += kThreads) {
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

/// c += rows [16, depth] of `left` from row m on, times a warp's columns of `right` from column n
/// on.
template <class Of, int kDepth>
__device__ __forceinline__ void multiply_columns_of_warp(const uint16_t* left, int stride, int m,
                                                         const uint16_t* right, int n, int depth,
                                                         typename Of::Sums& c) {
#pragma unroll
  for (int k = 0; k < kDepth; k += 16) {
    if (k >= depth) break;
    uint32_t a[4];
    load_a(a, left, stride, m, k);
#pragma unroll
    for (int i = 0; i < Of::kColumns / 16; ++i) {
      uint32_t b[4];
      load_b(b, right, kNarrowRow, k, n + 16 * i);
      multiply(c[2 * i], a, b[0], b[1]);
      multiply(c[2 * i + 1], a, b[2], b[3]);
    }
  }
}

/// Writes the weights of a warp's columns from n on, which are seen rows, in rows m to m + 15:
/// products of C and B, decayed, times the time step. Rows do not see later ones.
template <class Of>
__device__ void write_pairs(const ChunkOperands<Of>& stage, const float* dt, const float* decay,
                            int m, int n, uint16_t* pairs) {
  typename Of::Sums sums = {};
  if (n < m + 16) {
#pragma unroll
    for (int k = 0; k < Of::kState; k += 16) {
      uint32_t a[4];
      load_a(a, stage.c, Of::kWideRow, m, k);
#pragma unroll
      for (int i = 0; i < Of::kColumns / 16; ++i) {
        uint32_t b[4];
        load_b_turned(b, stage.b, Of::kWideRow, k, n + 16 * i);
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
    for (int t = 0; t < Of::kColumns / 8; ++t) {
      const int seen = n + 8 * t + 2 * (lane % 4);
      *reinterpret_cast<uint32_t*>(pairs + row * kNarrowRow + seen) =
          bf16_pair(weight(seen, sums[t][2 * half]), weight(seen + 1, sums[t][2 * half + 1]));
    }
  }
}

template <class Of>
__device__ void write_scaled(const ChunkOperands<Of>& stage, const float* dt, const float* decay,
                             uint16_t* scaled) {
  const float end = decay[kChunkRows - 1];
  for (int i = threadIdx.x; i < kChunkRows * kChunkColumns / 2; i += Of::kThreads) {
    const int row = i / (kChunkColumns / 2), at = row * kNarrowRow + i % (kChunkColumns / 2) * 2;
    const float share = __expf(end - decay[row]) * dt[row];
    const uint32_t pair = *reinterpret_cast<const uint32_t*>(stage.x + at);
    *reinterpret_cast<uint32_t*>(scaled + at) =
        bf16_pair(low_of(pair) * share, high_of(pair) * share);
  }
}

/// Rows m to m + 15 and a warp's elements from n on of the output. `first` is the chunk's first
/// row.
template <class Of>
__device__ void write_outputs(const SsmSizes& s, const SsmAddresses& at, const ChunkedPart& part,
                              int64_t first, const ChunkOperands<Of>& stage, int m, int n,
                              float skip, const typename Of::Sums& sums) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = m + lane / 4 + 8 * half;
    if (first + row >= part.task.rows) continue;
    float* const to =
        at.out + (part.task.first + first + row) * s.inner + part.head * s.head_dim + part.column;
#pragma unroll
    for (int t = 0; t < Of::kColumns / 8; ++t) {
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
template <class Of, class F>
__device__ __forceinline__ void for_each_pair(const SsmSizes& s, const ChunkedPart& part, int m,
                                              F&& f) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int t = 0; t < kChunkColumns / 8; ++t) {
    const int column = 8 * t + 2 * (lane % 4);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t number = int64_t{part.head} * Of::kState + m + lane / 4 + 8 * half;
      if (column < part.columns) {
        f(t, half, s.history + number * s.head_dim + part.column + column);
      }
    }
  }
}

/// blockIdx.x: a head and kChunkColumns of its elements, blockIdx.y: a task.
template <class Of, int kStages>
__global__ void __launch_bounds__(Of::kThreads)
    ssm_chunks_kernel(SsmSizes s, SsmAddresses at, const uint16_t* convolved,
                      const __grid_constant__ Records<RecurrentRows> tasks) {
  extern __shared__ __align__(16) unsigned char chunk_memory[];
  auto& m = *reinterpret_cast<ChunkShared<Of, kStages>*>(chunk_memory);
  await_turn();
  const int tiles = (s.head_dim + kChunkColumns - 1) / kChunkColumns;
  const int head = blockIdx.x / tiles, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int column = static_cast<int>(blockIdx.x) % tiles * kChunkColumns;
  const ChunkedPart part{tasks.each[blockIdx.y], head, head / s.heads_of_group, column,
                         min(kChunkColumns, s.head_dim - column)};
  const int64_t rows = part.task.rows;
  const int own = 16 * warp, row = 16 * (warp % 4), seen = Of::kColumns * (warp / 4);
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
  for_each_pair<Of>(s, part, own, [&](int t, int lower, int64_t place) {
    const float2 pair = *reinterpret_cast<const float2*>(part.task.before + place);
    state[t][2 * lower] = pair.x;
    state[t][2 * lower + 1] = pair.y;
  });
  write_operand(state, own, m.state);
  int set = 0;
  for (int64_t first = 0; first < rows; first += kChunkRows, set ^= 1) {
    wait_copies<0>();
    __syncthreads();  // barrier: operands, time steps and the state are there
    const ChunkOperands<Of>& stage = m.stages[kStages > 1 ? set : 0];
    const int64_t next = first + kChunkRows;
    float2 steps{};
    if (next < rows) {
      if constexpr (kStages > 1) copy_operands(s, part, convolved, next, m.stages[set ^ 1]);
      steps = steps_of(next);
    }
    const float *const dt = m.dt[set], *const decay = m.decay[set];
    write_pairs(stage, dt, decay, row, seen, m.pairs);
    write_scaled(stage, dt, decay, m.scaled);
    __syncthreads();  // barrier: pairs and scaled rows are there
    typename Of::Sums sums = {};
    multiply_columns_of_warp<Of, Of::kState>(stage.c, Of::kWideRow, row, m.state, seen, Of::kState,
                                             sums);
    const float factors[] = {__expf(decay[row + lane / 4]), __expf(decay[row + lane / 4 + 8])};
#pragma unroll
    for (int t = 0; t < Of::kColumns / 8; ++t) {
#pragma unroll
      for (int i = 0; i < 4; ++i) sums[t][i] *= factors[i / 2];
    }
    multiply_columns_of_warp<Of, kChunkRows>(m.pairs, kNarrowRow, row, stage.x, seen, row + 16,
                                             sums);
    write_outputs(s, at, part, first, stage, row, seen, skip, sums);
    const float kept = __expf(decay[kChunkRows - 1]);
#pragma unroll
    for (int t = 0; t < kChunkColumns / 8; ++t) {
#pragma unroll
      for (float& x : state[t]) x *= kept;
    }
#pragma unroll
    for (int k = 0; k < kChunkRows; k += 16) {
      uint32_t a[4];
      load_a_turned(a, stage.b, Of::kWideRow, own, k);
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
  for_each_pair<Of>(s, part, own, [&](int t, int lower, int64_t place) {
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

int most_shared_memory() { return card_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin); }

template <class Of, int kStages>
void launch_chunks(Stream stream, const SsmSizes& s, const SsmAddresses& at,
                   std::span<const RecurrentRows> tasks, const uint16_t* convolved, int across) {
  constexpr int kBytes = sizeof(ChunkShared<Of, kStages>);
  const auto kernel = ssm_chunks_kernel<Of, kStages>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of ssm_chunks");
  in_launches(tasks, "ssm_chunks", [&](const Records<RecurrentRows>& some, unsigned count) {
    launch_early(stream, "ssm_chunks", kernel, dim3(static_cast<unsigned>(across), count),
                 Of::kThreads, kBytes, s, at, convolved, some);
  });
}

/// If a processor has at most one block, the block has two stages of operands. More blocks have one
/// stage each, so that two blocks with states of 128 numbers run on a processor.
template <class Of>
void launch_chunks_of(Stream stream, const SsmSizes& s, const SsmAddresses& at,
                      std::span<const RecurrentRows> tasks, const uint16_t* convolved) {
  const int across = s.heads * ((s.head_dim + kChunkColumns - 1) / kChunkColumns);
  if (across * std::ssize(tasks) <= card_attribute(cudaDevAttrMultiProcessorCount) &&
      static_cast<int>(sizeof(ChunkShared<Of, 2>)) <= most_shared_memory()) {
    return launch_chunks<Of, 2>(stream, s, at, tasks, convolved, across);
  }
  launch_chunks<Of, 1>(stream, s, at, tasks, convolved, across);
}

}  // namespace

bool has_ssm_chunks(const SsmSizes& s) {
  if (s.head_dim % 16 != 0 || (s.state != 128 && s.state != 256)) return false;
  const size_t needed =
      s.state == 128 ? sizeof(ChunkShared<Chunked<128>, 1>) : sizeof(ChunkShared<Chunked<256>, 1>);
  return static_cast<int>(needed) <= most_shared_memory();
}

void ssm_chunks(Stream stream, const SsmSizes& sizes, const SsmAddresses& at,
                std::span<const RecurrentRows> tasks, const uint16_t* convolved) {
  LH_ASSERT(has_ssm_chunks(sizes));
  if (sizes.state == 128) {
    return launch_chunks_of<Chunked<128>>(stream, sizes, at, tasks, convolved);
  }
  launch_chunks_of<Chunked<256>>(stream, sizes, at, tasks, convolved);
}

}  // namespace longhaul::cuda
