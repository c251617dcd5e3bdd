// The short convolution, the norm of the output, and the delta rule row by row for any sizes.

#include "base/assert.h"
#include "ops/core/gpu/device_error.gpu.h"
#include "ops/core/gpu/over_elements.cuh"
#include "ops/core/gpu/reductions.cuh"
#include "ops/delta/delta_terms.cuh"

namespace longhaul::cuda {
namespace {

constexpr int kConvolvedRows = 8;  // rows of a warp

__device__ float4 load_four(const float* p) { return *reinterpret_cast<const float4*>(p); }

/// The address of channels of row `row`, which is in the history if it is below 0.
__device__ const float* row_at(const DeltaSizes& s, const float* x, const float* history,
                               int64_t row) {
  return row < 0 ? history + (row + s.taps - 1) * s.channels : x + row * s.channels;
}

/// A warp has one head of queries, keys or values and some rows. Queries and keys are divided by
/// their length.
__global__ void __launch_bounds__(256)
    convolve_heads_kernel(DeltaSizes s, const float* x, const float* weight, const float* history,
                          int64_t rows, uint16_t* y) {
  await_turn();
  const int lane = threadIdx.x % 32, head = blockIdx.y;
  const int64_t first = (blockIdx.x * int64_t{8} + threadIdx.x / 32) * kConvolvedRows;
  if (first >= rows) return;
  const int channel = head * kDeltaDim + 4 * lane;
  const bool unit = head < 2 * s.key_heads;
  const float scale = head < s.key_heads ? 1.0f / sqrtf(static_cast<float>(kDeltaDim)) : 1.0f;
  float4 taps[kDeltaTaps], seen[kDeltaTaps];
#pragma unroll
  for (int j = 0; j < kDeltaTaps; ++j) {
    taps[j] = load_four(weight + j * s.channels + channel);
    if (j > 0) seen[j] = load_four(row_at(s, x, history, first + j - kDeltaTaps) + channel);
  }
  const int64_t end = min(rows, first + kConvolvedRows);
  for (int64_t row = first; row < end; ++row) {
#pragma unroll
    for (int j = 0; j + 1 < kDeltaTaps; ++j) seen[j] = seen[j + 1];
    seen[kDeltaTaps - 1] = load_four(x + row * s.channels + channel);
    float4 sum{};
#pragma unroll
    for (int j = 0; j < kDeltaTaps; ++j) {
      sum.x += taps[j].x * seen[j].x;
      sum.y += taps[j].y * seen[j].y;
      sum.z += taps[j].z * seen[j].z;
      sum.w += taps[j].w * seen[j].w;
    }
    sum = {sum.x * delta_sigmoid(sum.x), sum.y * delta_sigmoid(sum.y), sum.z * delta_sigmoid(sum.z),
           sum.w * delta_sigmoid(sum.w)};
    float factor = 1;
    if (unit) {
      const float squares = warp_sum(sum.x * sum.x + sum.y * sum.y + sum.z * sum.z + sum.w * sum.w);
      factor = scale / sqrtf(squares + 1e-6f);
    }
    const uint2 pairs = {two_bf16(sum.x * factor, sum.y * factor),
                         two_bf16(sum.z * factor, sum.w * factor)};
    *reinterpret_cast<uint2*>(y + row * s.channels + channel) = pairs;
  }
}

/// One element per thread, without the division by lengths.
__global__ void __launch_bounds__(256)
    convolve_kernel(DeltaSizes s, const float* x, const float* weight, const float* history,
                    int64_t rows, float* y) {
  await_turn();
  const int64_t row = blockIdx.y;
  const int channel = blockIdx.x * 256 + threadIdx.x;
  if (channel >= s.channels || row >= rows) return;
  float sum = 0;
  for (int j = 0; j < s.taps; ++j) {
    sum += weight[int64_t{j} * s.channels + channel] *
           row_at(s, x, history, row + j - s.taps + 1)[channel];
  }
  y[row * s.channels + channel] = sum * delta_sigmoid(sum);
}

__global__ void __launch_bounds__(256)
    keep_history_kernel(DeltaSizes s, const float* x, int64_t rows, const float* before,
                        float* after) {
  await_turn();
  const int channel = blockIdx.x * 256 + threadIdx.x;
  if (channel >= s.channels) return;
  // In place: row j is read before it is written, because the sources follow it.
  for (int j = 0; j + 1 < s.taps; ++j) {
    const float* const from = row_at(s, x, before, rows - s.taps + 1 + j);
    after[int64_t{j} * s.channels + channel] = from[channel];
  }
}

/// A thread block has a value head, and a thread a column of its state.
__global__ void __launch_bounds__(1024)
    delta_rows_kernel(DeltaSizes s, DeltaAddresses at, const float* convolved, int64_t rows,
                      float* state) {
  await_turn();
  extern __shared__ float row_numbers[];
  float *const query = row_numbers, *const key = row_numbers + s.key_dim;
  const int head = blockIdx.x, column = threadIdx.x;
  const int key_head = key_head_of(s, head);
  state += int64_t{head} * s.key_dim * s.value_dim + column;
  const float scale = 1.0f / sqrtf(static_cast<float>(s.key_dim));
  for (int64_t row = 0; row < rows; ++row) {
    const float* const x = convolved + row * s.channels;
    __syncthreads();
    for (int i = threadIdx.x; i < s.key_dim; i += blockDim.x) {
      query[i] = x[key_head * s.key_dim + i];
      key[i] = x[s.keys + key_head * s.key_dim + i];
    }
    __syncthreads();
    if (column >= s.value_dim) continue;
    float queries = 1e-6f, keys = 1e-6f;
    for (int i = 0; i < s.key_dim; ++i) {
      queries += query[i] * query[i];
      keys += key[i] * key[i];
    }
    const float query_factor = scale / sqrtf(queries), key_factor = 1.0f / sqrtf(keys);
    const float kept = expf(log_decay(at, s, row, head));
    float held = 0, seen = 0;
    for (int i = 0; i < s.key_dim; ++i) held += key[i] * state[int64_t{i} * s.value_dim];
    const float value = x[2 * s.keys + head * s.value_dim + column];
    const float fresh =
        share_of(at, s, row, head) * (value - kept * held * key_factor) * key_factor;
    for (int i = 0; i < s.key_dim; ++i) {
      float& number = state[int64_t{i} * s.value_dim];
      number = kept * number + key[i] * fresh;
      seen += query[i] * number;
    }
    at.out[row * s.values + head * s.value_dim + column] = seen * query_factor;
  }
}

/// One warp per head of a row.
template <int kRun>
__global__ void __launch_bounds__(256)
    delta_norm_kernel(float* x, const float* gates, const float* weight, float eps, int64_t vectors,
                      int size) {
  await_turn();
  const int64_t vector = blockIdx.x * int64_t{8} + threadIdx.y;
  if (vector >= vectors) return;
  x += vector * size;
  gates += vector * size;
  const int lane = threadIdx.x;
  float sum = 0;
  for (int i = lane * kRun; i < size; i += 32 * kRun) {
    for (const float v : load_run<kRun>(x + i).v) sum += v * v;
  }
  const float factor = 1.0f / sqrtf(warp_sum(sum) / static_cast<float>(size) + eps);
  for (int i = lane * kRun; i < size; i += 32 * kRun) {
    Run<kRun> run = load_run<kRun>(x + i);
    const Run<kRun> gate = load_run<kRun>(gates + i), w = load_run<kRun>(weight + i);
    for (int k = 0; k < kRun; ++k) {
      run.v[k] *= factor * w.v[k] * gate.v[k] * delta_sigmoid(gate.v[k]);
    }
    store_run(x + i, run);
  }
}

unsigned blocks_of(int64_t count, int64_t each) {
  return static_cast<unsigned>((count + each - 1) / each);
}

}  // namespace

void delta_convolve(Stream stream, const DeltaSizes& s, const DeltaAddresses& at,
                    const float* history, int64_t rows, uint16_t* y) {
  LH_ASSERT(s.fast() && rows > 0);
  const dim3 grid(blocks_of(rows, 8 * kConvolvedRows),
                  static_cast<unsigned>(s.channels / kDeltaDim));
  launch_early(stream, "delta_convolve", convolve_heads_kernel, grid, 256, 0, s, at.qkv,
               at.convolution, history, rows, y);
}

void delta_convolve(Stream stream, const DeltaSizes& s, const DeltaAddresses& at,
                    const float* history, int64_t rows, float* convolved) {
  LH_ASSERT(rows > 0 && rows < 65536);
  const dim3 grid(blocks_of(s.channels, 256), static_cast<unsigned>(rows));
  launch_early(stream, "delta_convolve", convolve_kernel, grid, 256, 0, s, at.qkv, at.convolution,
               history, rows, convolved);
}

void delta_keep_history(Stream stream, const DeltaSizes& s, const float* x, int64_t rows,
                        const float* before, float* after) {
  if (s.taps == 1) return;
  launch_early(stream, "delta_keep_history", keep_history_kernel, blocks_of(s.channels, 256), 256,
               0, s, x, rows, before, after);
}

void delta_rows(Stream stream, const DeltaSizes& s, const DeltaAddresses& at,
                const float* convolved, int64_t rows, float* state) {
  LH_ASSERT(s.key_dim <= 1024 && s.value_dim <= 1024);
  const unsigned threads = (static_cast<unsigned>(s.value_dim) + 31) / 32 * 32;
  const size_t shared = 2 * static_cast<size_t>(s.key_dim) * sizeof(float);
  launch_early(stream, "delta_rows", delta_rows_kernel, static_cast<unsigned>(s.value_heads),
               threads, shared, s, at, convolved, rows, state);
}

void delta_norm(Stream stream, const DeltaSizes& s, const DeltaAddresses& at, int64_t rows) {
  const int64_t vectors = rows * s.value_heads;
  if (vectors == 0) return;
  const auto address = [](const float* p) { return reinterpret_cast<uintptr_t>(p); };
  const bool four =
      s.value_dim % 4 == 0 && aligned_to(16, address(at.out), address(at.gates), address(at.norm));
  launch_early(stream, "delta_norm", four ? delta_norm_kernel<4> : delta_norm_kernel<1>,
               blocks_of(vectors, 8), dim3(32, 8), 0, at.out, at.gates, at.norm, at.eps, vectors,
               s.value_dim);
}

}  // namespace longhaul::cuda
