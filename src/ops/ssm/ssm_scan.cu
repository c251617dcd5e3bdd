// The states of Mamba-2 heads, one row after another, and the gated norm of their output.

#include "base/assert.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/in_launches.cuh"
#include "ops/core/gpu/mma.cuh"
#include "ops/core/gpu/reductions.cuh"
#include "ops/ssm/ssm.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kScanWarps = 8, kScanThreads = 32 * kScanWarps;
constexpr int kColumnsOfWarp = 8;                          ///< elements of a head
constexpr int kTileColumns = kScanWarps * kColumnsOfWarp;  ///< elements of a thread block
constexpr int kStagedRows = 16;                            ///< rows in shared memory at a time

/// B, C and x of some rows. B and C have zeros behind the numbers of the state.
template <int kPer>
struct ScanStage {
  float b[kStagedRows][32 * kPer], c[kStagedRows][32 * kPer];
  float x[kStagedRows][kTileColumns];
};
template <int kPer>
struct ScanShared {
  ScanStage<kPer> stages[2];
  float dt[2][kStagedRows], kept[2][kStagedRows];
};

/// A thread block has some elements of a head of one task.
struct ScanPart {
  RecurrentRows task;
  int head, group, column;  ///< `column` is the first element
};

/// Starts to load rows [row, row + count) of a task.
template <int kPer>
__device__ void load_stage(const SsmSizes& s, const ScanPart& part, const float* convolved,
                           int64_t row, int count, ScanStage<kPer>& to) {
  constexpr int kPieces = 8 * kPer;  // pieces of B in a row; C has as many
  const float* const rows = convolved + (part.task.first + row) * s.channels;
  for (int i = threadIdx.x; i < count * 2 * kPieces; i += kScanThreads) {
    const int r = i / (2 * kPieces), second = i / kPieces % 2, n = i % kPieces * 4;
    const bool present = n < s.state;
    const float* const own =
        rows + int64_t{r} * s.channels + s.inner + (second * s.groups + part.group) * s.state;
    float* const place = second == 0 ? &to.b[r][n] : &to.c[r][n];
    copy_16(shared_address(place), present ? own + n : rows, present);
  }
  constexpr int kXPieces = kTileColumns / 4;
  for (int i = threadIdx.x; i < count * kXPieces; i += kScanThreads) {
    const int r = i / kXPieces, p = i % kXPieces * 4;
    const bool present = part.column + p < s.head_dim;
    const float* const own =
        rows + int64_t{r} * s.channels + part.head * s.head_dim + part.column + p;
    copy_16(shared_address(&to.x[r][p]), present ? own : rows, present);
  }
  commit_copies();
}

/// The number of the state that is the i-th of a lane.
template <int kPer>
__device__ __forceinline__ int number_of_lane(int i) {
  const int lane = threadIdx.x % 32;
  return kPer < 4 ? lane * kPer + i : i / 4 * 128 + lane * 4 + i % 4;
}

/// Returns, to lane l, the sum of x[l / 4] over all lanes.
__device__ __forceinline__ float sum_of_column(float (&x)[kColumnsOfWarp]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int half = kColumnsOfWarp / 2; half > 0; half /= 2) {
    const bool upper = (lane & 4 * half) != 0;
#pragma unroll
    for (int j = 0; j < half; ++j) {
      const float sent = upper ? x[j] : x[j + half], own = upper ? x[j + half] : x[j];
      x[j] = own + __shfl_xor_sync(~0u, sent, 4 * half);
    }
  }
  float sum = x[0];
  sum += __shfl_xor_sync(~0u, sum, 2);
  return sum + __shfl_xor_sync(~0u, sum, 1);
}

/// Computes a row of a warp's columns, of which `xs` are the inputs. Returns, to lane l, the output
/// of column l / 4 without the skipped input.
template <int kPer>
__device__ __forceinline__ float scan_row(const float* b, const float* c, const float* xs, float dt,
                                          float kept, float (&state)[kPer][kColumnsOfWarp]) {
  float fresh[kColumnsOfWarp], sums[kColumnsOfWarp];
#pragma unroll
  for (int j = 0; j < kColumnsOfWarp; ++j) {
    fresh[j] = dt * xs[j];
    sums[j] = 0;
  }
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    const int n = number_of_lane<kPer>(i);
    const float in = b[n], out = c[n];
#pragma unroll
    for (int j = 0; j < kColumnsOfWarp; ++j) {
      state[i][j] = kept * state[i][j] + in * fresh[j];
      sums[j] += out * state[i][j];
    }
  }
  return sum_of_column(sums);
}

/// Eight neighbouring elements of a state, for each number of the lane.
template <int kPer>
__device__ void load_state(const float* from, const SsmSizes& s,
                           float (&state)[kPer][kColumnsOfWarp]) {
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    const int n = number_of_lane<kPer>(i);
    float4 low{}, high{};
    if (n < s.state) {
      const auto* const own = reinterpret_cast<const float4*>(from + int64_t{n} * s.head_dim);
      low = own[0];
      high = own[1];
    }
    const float numbers[] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (int j = 0; j < kColumnsOfWarp; ++j) state[i][j] = numbers[j];
  }
}
template <int kPer>
__device__ void store_state(const float (&state)[kPer][kColumnsOfWarp], const SsmSizes& s,
                            float* to) {
#pragma unroll
  for (int i = 0; i < kPer; ++i) {
    const int n = number_of_lane<kPer>(i);
    if (n >= s.state) continue;
    auto* const own = reinterpret_cast<float4*>(to + int64_t{n} * s.head_dim);
    own[0] = {state[i][0], state[i][1], state[i][2], state[i][3]};
    own[1] = {state[i][4], state[i][5], state[i][6], state[i][7]};
  }
}

/// blockIdx.x: a head and kTileColumns of its elements, blockIdx.y: a task. A warp has
/// kColumnsOfWarp elements, and a lane kPer numbers of the state for each. The next rows are loaded
/// while the present ones are computed.
template <int kPer>
__global__ void __launch_bounds__(kScanThreads, 2)
    ssm_scan_kernel(SsmSizes s, SsmAddresses at, const float* convolved,
                    const __grid_constant__ Records<RecurrentRows> tasks) {
  extern __shared__ uint4 scan_memory[];
  auto& m = *reinterpret_cast<ScanShared<kPer>*>(scan_memory);
  await_turn();
  const int tiles = (s.head_dim + kTileColumns - 1) / kTileColumns;
  const int head = blockIdx.x / tiles, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const ScanPart part{tasks.each[blockIdx.y], head, head / s.heads_of_group,
                      static_cast<int>(blockIdx.x) % tiles * kTileColumns};
  const int64_t rows = part.task.rows;
  const int own = part.column + kColumnsOfWarp * warp;
  const bool present = own < s.head_dim;
  const int64_t matrix = s.history + int64_t{head} * s.state * s.head_dim + own;
  const float* const steps = at.steps + part.task.first * at.step_stride + head;
  const float rate = at.rate[head], dt_bias = at.dt_bias[head], skip = at.skip[head];
  const auto count_from = [&](int64_t first) {
    return static_cast<int>(min(int64_t{kStagedRows}, rows - first));
  };
  // Thread r has the projected time step of row r of a stage.
  const auto step_of = [&](int64_t first) {
    const bool is_row = threadIdx.x < kStagedRows && first + threadIdx.x < rows;
    return is_row ? steps[(first + threadIdx.x) * at.step_stride] : 0.0f;
  };
  const auto set_step = [&](int stage, float step) {
    if (threadIdx.x >= kStagedRows) return;
    const float x = s.step_scale * step + dt_bias;
    const float dt = x > 20.0f ? x : log1pf(expf(x));
    m.dt[stage][threadIdx.x] = dt;
    m.kept[stage][threadIdx.x] = expf(rate * dt);
  };
  load_stage(s, part, convolved, 0, count_from(0), m.stages[0]);
  set_step(0, step_of(0));
  float state[kPer][kColumnsOfWarp] = {};
  if (present) load_state(part.task.before + matrix, s, state);
  int stage = 0;
  for (int64_t first = 0; first < rows; first += kStagedRows, stage ^= 1) {
    const int64_t next = first + kStagedRows;
    wait_copies<0>();
    __syncthreads();  // barrier: this stage has arrived, and the other one has been computed
    float step = 0;
    if (next < rows) {
      load_stage(s, part, convolved, next, count_from(next), m.stages[stage ^ 1]);
      step = step_of(next);
    }
    const ScanStage<kPer>& now = m.stages[stage];
    const int count = present ? count_from(first) : 0;
    float* out = at.out + (part.task.first + first) * s.inner + head * s.head_dim + own + lane / 4;
#pragma unroll 1
    for (int r = 0; r < count; ++r, out += s.inner) {
      const float* const xs = now.x[r] + kColumnsOfWarp * warp;
      const float seen =
          scan_row<kPer>(now.b[r], now.c[r], xs, m.dt[stage][r], m.kept[stage][r], state);
      if (lane % 4 == 0) *out = seen + skip * xs[lane / 4];
    }
    if (next < rows) set_step(stage ^ 1, step);
  }
  if (present) store_state(state, s, part.task.after + matrix);
}

__device__ __forceinline__ float gate_silu(float x) { return x / (1.0f + expf(-x)); }

/// blockIdx.x: a row, blockIdx.y: a group of the norm.
__global__ void __launch_bounds__(256)
    ssm_gate_kernel(SsmSizes s, SsmAddresses at, int64_t first_row) {
  await_turn();
  __shared__ float sums[kMostWarps];
  const int64_t row = first_row + blockIdx.x;
  const int size = s.inner / s.groups, first = blockIdx.y * size;
  float* const y = at.out + row * s.inner + first;
  const float* const z = at.projected + row * at.stride + first;
  const bool gates_first = s.norm != SsmNorm::kBeforeGate;
  float squares = 0;
  for (int i = threadIdx.x; i < size; i += blockDim.x) {
    float v = y[i];
    if (gates_first) v *= gate_silu(s.gate_scale * z[i]);
    y[i] = v;
    squares += v * v;
  }
  if (s.norm == SsmNorm::kNone) return;
  const float factor = 1.0f / sqrtf(block_sum(squares, sums) / static_cast<float>(size) + at.eps);
  for (int i = threadIdx.x; i < size; i += blockDim.x) {
    float v = y[i] * factor * at.norm[first + i];
    if (!gates_first) v *= gate_silu(s.gate_scale * z[i]);
    y[i] = v;
  }
}

template <int kPer>
void launch_scan(Stream stream, const SsmSizes& s, const SsmAddresses& at,
                 std::span<const RecurrentRows> tasks, const float* convolved) {
  constexpr int kBytes = sizeof(ScanShared<kPer>);
  static_assert(kBytes <= 99 * 1024);  // shared memory of the smallest cards
  const auto kernel = ssm_scan_kernel<kPer>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of ssm_scan");
  const int tiles = (s.head_dim + kTileColumns - 1) / kTileColumns;
  in_launches(tasks, "ssm_scan", [&](const Records<RecurrentRows>& some, unsigned count) {
    launch_early(stream, "ssm_scan", kernel, dim3(static_cast<unsigned>(s.heads * tiles), count),
                 kScanThreads, kBytes, s, at, convolved, some);
  });
}

}  // namespace

void ssm_scan(Stream stream, const SsmSizes& sizes, const SsmAddresses& at,
              std::span<const RecurrentRows> tasks, const float* convolved) {
  LH_ASSERT(sizes.state <= kMostSsmState && sizes.state % 4 == 0);
  LH_ASSERT(sizes.head_dim % kColumnsOfWarp == 0);
  if (sizes.state <= 32) return launch_scan<1>(stream, sizes, at, tasks, convolved);
  if (sizes.state <= 64) return launch_scan<2>(stream, sizes, at, tasks, convolved);
  if (sizes.state <= 128) return launch_scan<4>(stream, sizes, at, tasks, convolved);
  launch_scan<8>(stream, sizes, at, tasks, convolved);
}

void ssm_gate(Stream stream, const SsmSizes& sizes, const SsmAddresses& at, int64_t first,
              int64_t rows) {
  if (rows == 0) return;
  const dim3 grid(static_cast<unsigned>(rows), static_cast<unsigned>(sizes.groups));
  launch_early(stream, "ssm_gate", ssm_gate_kernel, grid, 256, 0, sizes, at, first);
}

}  // namespace longhaul::cuda
