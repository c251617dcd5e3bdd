// A thread block multiplies 16 or 64 rows of one head by 64 rows of its matrix with mma.sync. For
// one row (decode) its time is that of reading the matrix.

#include <cuda_runtime.h>

#include "base/assert.h"
#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/kernel_views.cuh"
#include "ops/core/gpu/mma.cuh"
#include "ops/matmul/head_products.gpu.h"

namespace longhaul::cuda {
namespace {

constexpr int kHeadThreads = 128;
constexpr int kHeadOutputs = 64;
constexpr int kHeadInputs = 256;                  ///< inputs at a time
constexpr int kHeadPitch = 2 * kHeadInputs + 16;  ///< bytes; fragments lie in different banks
constexpr int kHeadChunks = kHeadInputs / 8;

struct HeadJob {
  const std::byte* w;
  const float* x;
  float* y;
  int64_t rows, x_width, y_width;
  int heads, outputs, inputs;
  bool exact;  ///< w is f32, else bf16
};

/// Eight numbers as bf16.
__device__ __forceinline__ uint4 eight_bf16(const float* from) {
  const float4 a = *reinterpret_cast<const float4*>(from);
  const float4 b = *reinterpret_cast<const float4*>(from + 4);
  return {bf16_pair(a.x, a.y), bf16_pair(a.z, a.w), bf16_pair(b.x, b.y), bf16_pair(b.z, b.w)};
}

/// Loads inputs [first, first + kHeadInputs) of the block's matrix rows. Missing ones become zeros.
__device__ __forceinline__ void load_weights(const HeadJob& job, int first, uint32_t to) {
  const int64_t head = blockIdx.y, output = blockIdx.x * int64_t{kHeadOutputs};
#pragma unroll 4
  for (int c = threadIdx.x; c < kHeadOutputs * kHeadChunks; c += kHeadThreads) {
    const int n = c / kHeadChunks, input = first + c % kHeadChunks * 8;
    const bool present = output + n < job.outputs && input < job.inputs;
    const int64_t at =
        present ? (head * job.outputs + output + n) * job.inputs + input : int64_t{0};
    const uint32_t place = to + n * kHeadPitch + c % kHeadChunks * 16;
    if (job.exact) {
      const auto* const from = reinterpret_cast<const float*>(job.w) + at;
      store_16(place, present ? eight_bf16(from) : uint4{0, 0, 0, 0});
    } else {
      copy_16(place, job.w + 2 * at, present);
    }
  }
  commit_copies();
}

template <int kRows>
__device__ __forceinline__ void load_inputs(const HeadJob& job, int first, uint32_t to) {
  const int64_t head = blockIdx.y, row = blockIdx.z * int64_t{kRows};
#pragma unroll 4
  for (int c = threadIdx.x; c < kRows * kHeadChunks; c += kHeadThreads) {
    const int n = c / kHeadChunks, input = first + c % kHeadChunks * 8;
    const bool present = row + n < job.rows && input < job.inputs;
    uint4 eight{0, 0, 0, 0};
    if (present) eight = eight_bf16(job.x + ((row + n) * job.heads + head) * job.x_width + input);
    store_16(to + n * kHeadPitch + c % kHeadChunks * 16, eight);
  }
}

template <int kRows>
__global__ void __launch_bounds__(kHeadThreads) multiply_heads_kernel(HeadJob job) {
  extern __shared__ uint4 memory[];
  constexpr int kOwnOutputs = kRows == 64 ? kHeadOutputs : kHeadOutputs / 4;  // a warp's
  const uint32_t w = shared_address(memory), x = w + kHeadOutputs * kHeadPitch;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = kRows == 64 ? 16 * warp : 0;
  const int first_output = kRows == 64 ? 0 : kOwnOutputs * warp;
  const uint32_t own_x = x + (first_row + lane % 16) * kHeadPitch + lane / 16 * 16;
  const uint32_t own_w =
      w + (first_output + lane % 8 + 8 * (lane / 16)) * kHeadPitch + lane / 8 % 2 * 16;
  float sums[kOwnOutputs / 8][4] = {};
  load_weights(job, 0, w);  // weights do not change
  await_turn();
  for (int first = 0; first < job.inputs; first += kHeadInputs) {
    if (first > 0) {
      __syncthreads();  // barrier: the previous inputs have been multiplied
      load_weights(job, first, w);
    }
    load_inputs<kRows>(job, first, x);
    wait_copies<0>();
    __syncthreads();
    const int steps = (min(kHeadInputs, job.inputs - first) + 15) / 16;
    for (int k = 0; k < steps; ++k) {
      uint32_t a[4];
      load_matrices(a, own_x + 32 * k);
#pragma unroll
      for (int g = 0; g < kOwnOutputs / 16; ++g) {
        uint32_t b[4];
        load_matrices(b, own_w + 16 * g * kHeadPitch + 32 * k);
        multiply(sums[2 * g], a, b[0], b[1]);
        multiply(sums[2 * g + 1], a, b[2], b[3]);
      }
    }
  }
  const int64_t row = blockIdx.z * int64_t{kRows} + first_row + lane / 4;
  const int output = static_cast<int>(blockIdx.x) * kHeadOutputs + first_output + 2 * (lane % 4);
#pragma unroll
  for (int g = 0; g < kOwnOutputs / 8; ++g) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int64_t r = row + i / 2 * 8;
      const int o = output + 8 * g + i % 2;
      if (r >= job.rows || o >= job.outputs) continue;
      job.y[(r * job.heads + blockIdx.y) * job.y_width + o] = sums[g][i];
    }
  }
}

template <int kRows>
void launch_heads(Stream stream, const HeadJob& job) {
  constexpr int kBytes = (kHeadOutputs + kRows) * kHeadPitch;
  static_assert(kBytes <= 99 * 1024);  // shared memory of the smallest cards
  const auto kernel = multiply_heads_kernel<kRows>;
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
        "shared memory of multiply_heads");
  const dim3 grid(static_cast<unsigned>((job.outputs + kHeadOutputs - 1) / kHeadOutputs),
                  static_cast<unsigned>(job.heads),
                  static_cast<unsigned>((job.rows + kRows - 1) / kRows));
  launch_early(stream, "multiply_heads", kernel, grid, kHeadThreads, kBytes, job);
}

}  // namespace

bool multiply_heads(Stream stream, int64_t rows, const HeadMatrices& w,
                    const HeadNumbers<const float>& x, const HeadNumbers<float>& y) {
  if (w.inputs % 8 != 0 || x.width % 4 != 0 || x.first % 4 != 0 || rows > 64 * 65535) return false;
  const HeadJob job{w.numbers.address(),
                    x.numbers.address() + x.first,
                    y.numbers.address() + y.first,
                    rows,
                    x.width,
                    y.width,
                    static_cast<int>(w.heads),
                    static_cast<int>(w.outputs),
                    static_cast<int>(w.inputs),
                    w.type == DType::F32};
  if (!aligned_to(16, job.w, job.x)) return false;
  rows <= 16 ? launch_heads<16>(stream, job) : launch_heads<64>(stream, job);
  return true;
}

}  // namespace longhaul::cuda
