#pragma once
// The kernel of row_tiles.gpu.h. A thread block multiplies 128 rows of weights by all rows of x,
// 256 columns at a time. Its threads unpack the weights to signed bytes in shared memory, and
// tensor cores multiply blocks of them. Weights of the next columns are loaded into registers, and
// those of x into shared memory, meanwhile. If the columns are divided among several thread blocks,
// the last one that ends adds their sums in order.

#include <cuda_runtime.h>

#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/kernel_views.cuh"
#include "ops/core/gpu/mma.cuh"
#include "ops/matmul/row_tiles.gpu.h"

namespace longhaul::cuda {

inline constexpr int kTileOutputs = 128, kTileCols = 256;

struct TileArgs {
  struct Job {
    Planes planes;
    int64_t rows;
    float* y;
    int64_t y_stride;
    const float* bias;
    int add;
    int end;  // the first tile after this job
  };
  Job jobs[kMostMatvecJobs];
  Int8Rows x;
  int x_rows, cols;
  int chunks_per_part;  // chunks have kTileCols columns
  float4* partial;      // [parts, tiles, N tiles, threads]
  int* counters;        // [tiles]
};

using TileKernel = void (*)(TileArgs);
/// The kernel for up to `rows` rows, or null if the list has no such type.
TileKernel tile_kernel_of_32(DType type, int64_t rows);
TileKernel tile_kernel_of_256(DType type, int64_t rows);
inline int row_groups_of(int64_t rows) { return rows <= 16 ? 2 : rows <= 32 ? 4 : 8; }

/// c [16, 8] = a [16, 32] * b [32, 8] + 0x4b400000, whose bits are those of 1.5 * 2^23 plus the
/// product.
__device__ __forceinline__ void multiply_bytes(int (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                               uint32_t b1) {
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%10,%10,%10,%10};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(0x4b400000));
}
/// Like the function above, for a [16, 16] and b [16, 8].
__device__ __forceinline__ void multiply_bytes(int (&c)[4], uint32_t a0, uint32_t a1, uint32_t b) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
      "{%7,%7,%7,%7};"
      : "=r"(c[0]), "=r"(c[1]), "=r"(c[2]), "=r"(c[3])
      : "r"(a0), "r"(a1), "r"(b), "r"(0x4b400000));
}

/// Shared memory of a thread block with N groups of 8 rows. Rows of bytes are 16 longer than their
/// contents, so that eight rows lie in different banks.
template <class Units, int N, bool kWide>
struct TileMemory {
  static constexpr int kPitch = kTileCols + 16;
  static constexpr int kSteps = kTileCols / (kWide ? 32 : 16);  // scales per row
  static constexpr int kStepPitch = kSteps + 1;
  static constexpr int kRows = 8 * N;
  uint8_t weights[kTileOutputs * kPitch];
  uint8_t x[2][kRows * kPitch];
  float steps[kTileOutputs * kStepPitch];
  float offsets[Units::kOffset ? kTileOutputs * kStepPitch : 1];
  alignas(8) float scales[kSteps * kRows];                     // scales of x, by group and row
  alignas(8) float sums[Units::kOffset ? kSteps * kRows : 2];  // scale times sum
};

template <class Units, int N, bool kWide>
class RowTile {
  using Memory = TileMemory<Units, N, kWide>;
  static constexpr int kThreads = 256;
  static constexpr int kPerBlock = Units::kBlock / 16;
  static constexpr int kRowUnits = kTileCols / Units::kBlock * Units::kUnits;
  static constexpr int kUnitsOfThread = kTileOutputs * kRowUnits / kThreads;
  static constexpr int kFactors = Memory::kSteps * Memory::kRows;
  static constexpr int kFactorsOfThread = (kFactors + kThreads - 1) / kThreads;

 public:
  __device__ RowTile(const TileArgs& args, Memory& memory) : a(args), m(memory) {
    tile_ = static_cast<int>(blockIdx.x);
    int begin = 0;
    while (tile_ >= a.jobs[job_].end) begin = a.jobs[job_++].end;
    first_row_ = (tile_ - begin) * kTileOutputs;
    last_row_ = static_cast<int>(job().rows) - 1;
  }

  __device__ void run() {
    const int chunks = (a.cols + kTileCols - 1) / kTileCols;
    const int first = static_cast<int>(blockIdx.y) * a.chunks_per_part;
    const int end = min(first + a.chunks_per_part, chunks);
    load_weights(first);
    await_turn();
    load_x(first, 0);
    for (int chunk = first; chunk < end; ++chunk) {
      const int at = (chunk - first) & 1;
      unpack(chunk);
      wait_copies<0>();
      __syncthreads();
      if (chunk + 1 < end) {
        load_weights(chunk + 1);
        load_x(chunk + 1, at ^ 1);
      }
      multiply_chunk(m.x[at]);
      __syncthreads();
    }
    finish();
  }

 private:
  __device__ const TileArgs::Job& job() const { return a.jobs[job_]; }

  /// Loads the units of a chunk. Rows and columns past the end repeat others; unpack() clears such
  /// columns, and rows are not written.
  __device__ __forceinline__ void load_weights(int chunk) {
    const int blocks = a.cols / Units::kBlock;
    const int first = chunk * (kTileCols / Units::kBlock);
#pragma unroll
    for (int i = 0; i < kUnitsOfThread; ++i) {
      const int at = i * kThreads + static_cast<int>(threadIdx.x);
      const int64_t row = min(first_row_ + at / kRowUnits, last_row_);
      const int u = at % kRowUnits;
      const int block = min(first + u / Units::kUnits, blocks - 1);
      units_[i] = Units::load(job().planes, row * blocks + block, u % Units::kUnits);
    }
  }

  __device__ __forceinline__ void load_x(int chunk, int to) {
    const int first = chunk * (kTileCols / 16);
#pragma unroll
    for (int i = 0; i < 8 * N * 16 / kThreads; ++i) {
      const int at = i * kThreads + static_cast<int>(threadIdx.x);
      const int row = at / 16, g = at % 16;
      const bool present = row < a.x_rows && first + g < a.x.groups;
      const Word4* const from = a.x.q + (present ? row * a.x.groups + first + g : 0);
      copy_16(shared_address(m.x[to] + row * Memory::kPitch + 16 * g), from, present);
    }
    commit_copies();
#pragma unroll
    for (int i = 0; i < kFactorsOfThread; ++i) {
      const int at = i * kThreads + static_cast<int>(threadIdx.x);
      const int row = at / Memory::kSteps, g = at % Memory::kSteps * (kWide ? 2 : 1);
      const bool present = row < a.x_rows && first + g < a.x.groups;
      float2 factors = {0, 0};
      if (present) {
        const GroupFactors* const from = a.x.factors + row * a.x.groups + first + g;
        if constexpr (kWide) {
          const float4 both = __ldcg(reinterpret_cast<const float4*>(from));
          factors = {both.x, both.y + both.w};
        } else {
          factors = __ldcg(reinterpret_cast<const float2*>(from));
        }
      }
      factors_[i] = factors;
    }
  }

  /// Writes what load_weights() and load_x() have in registers to shared memory.
  __device__ __forceinline__ void unpack(int chunk) {
#pragma unroll
    for (int i = 0; i < kUnitsOfThread; ++i) {
      const int at = i * kThreads + static_cast<int>(threadIdx.x);
      const int row = at / kRowUnits, u = at % kRowUnits;
      const bool present = chunk * kTileCols + u / Units::kUnits * Units::kBlock < a.cols;
#pragma unroll
      for (int k = 0; k < Units::kGroups; ++k) {
        Weights16 w = Units::weights(units_[i], u % Units::kUnits, k);
        const int g = u / Units::kUnits * kPerBlock + Units::group(u % Units::kUnits, k);
        if constexpr (Units::kZero != 0) {
          // Bytes are less than 128: no sum reaches the next byte.
          constexpr uint32_t kAdd = (0x80u - Units::kZero) * 0x01010101u;
#pragma unroll
          for (int word = 0; word < 4; ++word) w.q[word] = (w.q[word] + kAdd) ^ 0x80808080u;
        }
        *reinterpret_cast<uint4*>(m.weights + row * Memory::kPitch + 16 * g) = {w.q[0], w.q[1],
                                                                                w.q[2], w.q[3]};
        if (kWide && g % 2 != 0) continue;
        const int step = row * Memory::kStepPitch + (kWide ? g / 2 : g);
        m.steps[step] = present ? w.step : 0.0f;
        if constexpr (Units::kOffset) m.offsets[step] = present ? w.offset : 0.0f;
      }
    }
#pragma unroll
    for (int i = 0; i < kFactorsOfThread; ++i) {
      const int at = i * kThreads + static_cast<int>(threadIdx.x);
      if (at >= kFactors) break;
      const int row = at / Memory::kSteps, step = at % Memory::kSteps;
      m.scales[step * Memory::kRows + row] = factors_[i].x;
      if constexpr (Units::kOffset) m.sums[step * Memory::kRows + row] = factors_[i].y;
    }
  }

  /// Adds a block's products to the sums of 16 rows of weights and 8 rows of x.
  __device__ __forceinline__ void add(const int (&dots)[4], int n, int step, const float (&w)[2],
                                      const float (&offset)[2]) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int at = step * Memory::kRows + 8 * n + 2 * (lane % 4);
    const float2 scale = *reinterpret_cast<const float2*>(m.scales + at);
    float2 sum = {0, 0};
    if constexpr (Units::kOffset) sum = *reinterpret_cast<const float2*>(m.sums + at);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float dot = __int_as_float(dots[i]) - 12582912.0f;
      sums_[n][i] += dot * w[i / 2] * (i % 2 ? scale.y : scale.x);
      if constexpr (Units::kOffset) sums_[n][i] += offset[i / 2] * (i % 2 ? sum.y : sum.x);
    }
  }

  __device__ __forceinline__ void multiply_chunk(const uint8_t* x) {
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    // Lane l gives the address of row l % 8 of matrix l / 8 (mma.cuh). Of the weights, matrices are
    // (rows 0 to 7, rows 8 to 15) x (bytes 0 to 15, bytes 16 to 31); of x, two groups of rows.
    const uint32_t weights =
        shared_address(m.weights + (16 * warp + lane % 16) * Memory::kPitch + lane / 16 * 16);
    const uint32_t rows =
        shared_address(x + (lane % 8 + lane / 16 * 8) * Memory::kPitch + lane / 8 % 2 * 16);
    const int output = 16 * warp + lane / 4;
#pragma unroll 1
    for (int block = 0; block < kTileCols / 32; ++block) {
      uint32_t q[4];
      load_matrices(q, weights + 32 * block);
      constexpr int kOf32 = kWide ? 1 : 2;
      float w[kOf32][2], offset[kOf32][2] = {};
#pragma unroll
      for (int s = 0; s < kOf32; ++s) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int at = (output + 8 * half) * Memory::kStepPitch + kOf32 * block + s;
          w[s][half] = m.steps[at];
          if constexpr (Units::kOffset) offset[s][half] = m.offsets[at];
        }
      }
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        uint32_t b[4];
        load_matrices(b, rows + 8 * n * Memory::kPitch + 32 * block);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          int dots[4];
          if constexpr (kWide) {
            multiply_bytes(dots, q, b[2 * i], b[2 * i + 1]);
            add(dots, n + i, block, w[0], offset[0]);
          } else {
            multiply_bytes(dots, q[0], q[1], b[2 * i]);
            add(dots, n + i, 2 * block, w[0], offset[0]);
            multiply_bytes(dots, q[2], q[3], b[2 * i + 1]);
            add(dots, n + i, 2 * block + 1, w[kOf32 - 1], offset[kOf32 - 1]);
          }
        }
      }
    }
  }

  /// Writes the sums, or adds those of all parts if this is the last part.
  __device__ void finish() {
    const int parts = static_cast<int>(gridDim.y);
    if (parts > 1) {
      const auto at = [&](int part, int n) {
        return a.partial + ((static_cast<int64_t>(part) * gridDim.x + tile_) * N + n) * kThreads +
               threadIdx.x;
      };
#pragma unroll
      for (int n = 0; n < N; ++n) {
        *at(static_cast<int>(blockIdx.y), n) = {sums_[n][0], sums_[n][1], sums_[n][2], sums_[n][3]};
      }
      __threadfence();
      // No static shared memory: the limit of a thread block counts both kinds together.
      auto& last = *reinterpret_cast<int*>(m.steps);
      __syncthreads();
      if (threadIdx.x == 0) {
        const auto most = static_cast<unsigned>(parts - 1);  // wraps to 0
        last = atomicInc(reinterpret_cast<unsigned*>(a.counters) + tile_, most) == most;
      }
      __syncthreads();
      if (!last) return;
      __threadfence();
#pragma unroll
      for (int n = 0; n < N; ++n) {
        float4 sum = {0, 0, 0, 0};
        for (int part = 0; part < parts; ++part) {
          const float4 x = __ldcg(at(part, n));
          sum = {sum.x + x.x, sum.y + x.y, sum.z + x.z, sum.w + x.w};
        }
        sums_[n][0] = sum.x, sums_[n][1] = sum.y, sums_[n][2] = sum.z, sums_[n][3] = sum.w;
      }
    }
    write();
  }

  __device__ __forceinline__ void write() const {
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int output = first_row_ + 16 * warp + lane / 4 + 8 * half;
      if (output >= job().rows) continue;
      const float bias = job().bias != nullptr ? job().bias[output] : 0.0f;
#pragma unroll
      for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int row = 8 * n + 2 * (lane % 4) + i;
          if (row >= a.x_rows) continue;
          float* const y = job().y + row * job().y_stride + output;
          const float sum = sums_[n][2 * half + i] + bias;
          *y = job().add ? __ldcg(y) + sum : sum;
        }
      }
    }
  }

  const TileArgs& a;
  Memory& m;
  int tile_ = 0, job_ = 0;
  int first_row_ = 0, last_row_ = 0;
  typename Units::Unit units_[kUnitsOfThread];
  float2 factors_[kFactorsOfThread];
  float sums_[N][4] = {};
};

template <class Units, int N, bool kWide>
__global__ void __launch_bounds__(256, 2) row_tile_kernel(__grid_constant__ const TileArgs a) {
  extern __shared__ uint4 shared[];
  RowTile<Units, N, kWide>(a, *reinterpret_cast<TileMemory<Units, N, kWide>*>(shared)).run();
}

/// Returns the kernel of a type among those of a list.
template <class List, bool kWide>
TileKernel tile_kernel_among(List list, DType type, int64_t rows) {
  TileKernel kernel = nullptr;
  with_one_of(list, type, [&](auto units) {
    using Units = decltype(units);
    const int groups = row_groups_of(rows);
    kernel = groups == 2   ? row_tile_kernel<Units, 2, kWide>
             : groups == 4 ? row_tile_kernel<Units, 4, kWide>
                           : row_tile_kernel<Units, 8, kWide>;
  });
  return kernel;
}

/// Shared memory for any type.
template <int N>
constexpr size_t tile_bytes_of() {
  return sizeof(TileMemory<UnitsQ2_K, N, false>);
}

}  // namespace longhaul::cuda
