#pragma once
// The kernel of row_tiles.gpu.h. A thread block multiplies 256 weight rows by all rows of x, and
// each of its 16 warps has 16 of the weight rows. Weights are loaded from memory into the registers
// of the lane that multiplies them. Lane l reads units of 16 or more weights of rows l / 4 and
// l / 4 + 8, one chunk of columns before they are multiplied. Tensor cores sum over columns, so
// columns may be in any order, as long as x has the same order. If the columns are split among
// several thread blocks, the last of these to finish adds up their sums, in a fixed order.

#include <cuda_runtime.h>

#include <bit>

#include "ops/core/gpu/early_launch.cuh"
#include "ops/core/gpu/kernel_views.cuh"
#include "ops/core/gpu/mma.cuh"
#include "ops/matmul/row_tiles.gpu.h"

namespace longhaul::cuda {

inline constexpr int kTileOutputs = 256, kTileThreads = 512;
inline constexpr int kTileStages = 3;  ///< number of chunks of x in shared memory

struct TileArgs {
  struct Job {
    Planes planes;
    int64_t rows;
    float* y;
    int64_t y_stride;
    const float* bias;
    int add;
    int end;  // number of the first tile that belongs to a later job
  };
  Job jobs[kMostMatvecJobs];
  const uint16_t* x;
  int x_rows, cols;
  int chunks_per_part;
  float4* partial;  // [parts, tiles, N, threads] partial sums
  int* counters;    // [tiles] number of finished parts of each tile
};

struct TileForm {
  void (*kernel)(TileArgs) = nullptr;
  int chunk_cols = 0;
  size_t shared = 0;  ///< bytes of dynamic shared memory
};
using UnitsOfTiles32 =
    UnitsList<UnitsQ4_0, UnitsQ4_1, UnitsQ5_0, UnitsQ5_1, UnitsQ8_0, UnitsQ4_K, UnitsQ5_K>;
using UnitsOfTiles256 = UnitsList<UnitsQ2_K, UnitsQ3_K, UnitsQ6_K>;
/// Returns the kernel for up to `rows` rows. If the list does not contain the type, the result has
/// no kernel. The kernels of the functions *_sm90 run only on Hopper. Their results are bitwise
/// equal to those of the other kernels.
TileForm tile_form_of_32(DType type, int64_t rows);
TileForm tile_form_of_256(DType type, int64_t rows);
TileForm tile_form_of_32_sm90(DType type, int64_t rows);
TileForm tile_form_of_256_sm90(DType type, int64_t rows);
inline int row_groups_of(int64_t rows) { return rows <= 16 ? 2 : rows <= 32 ? 4 : 8; }

/// Returns the bytes between the beginnings of two rows of a chunk of x in shared memory. 16 bytes
/// are unused, so that neighbouring rows are in different banks.
constexpr int tile_pitch(int chunk_cols) { return 2 * chunk_cols + 16; }
inline size_t tile_bytes(int64_t rows, int chunk_cols) {
  return static_cast<size_t>(kTileStages * 8 * row_groups_of(rows) * tile_pitch(chunk_cols));
}

/// Returns a * b + c for two pairs of bf16. Each result is rounded once.
__device__ __forceinline__ uint32_t fma_pairs(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t r;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
  return r;
}
/// Returns (x & mask) | bits, computed in one instruction.
__device__ __forceinline__ uint32_t masked_or(uint32_t x, uint32_t mask, uint32_t bits) {
  uint32_t r;
  asm("lop3.b32 %0, %1, %2, %3, 0xea;" : "=r"(r) : "r"(x), "r"(mask), "r"(bits));
  return r;
}
/// Returns a word with two halves that both hold `value`, which must be exact in bf16.
constexpr uint32_t bf16_pair_of(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value) >> 16;
  return bits << 16 | bits;
}

template <class Units>
constexpr int tile_chunk_cols() {
  return Units::kGroups == 1 ? 128 : 256;
}

/// The parts of a kernel that do not depend on the instructions that multiply (mma.sync or wgmma).
template <class Units, int N>
class RowTileBase {
 protected:
  static constexpr int kChunkCols = tile_chunk_cols<Units>();
  // The columns of four units of a weight row. Each of four lanes multiplies one of the units.
  static constexpr int kStepCols = 64 * Units::kGroups;
  static constexpr int kSteps = kChunkCols / kStepCols;
  static constexpr int kStepUnits = 4, kRowsOfLane = 2;
  using Unit = typename Units::Unit;

  __device__ explicit RowTileBase(const TileArgs& args) : a(args) {
    tile_ = static_cast<int>(blockIdx.x);
    int begin = 0;
    while (tile_ >= a.jobs[job_].end) begin = a.jobs[job_++].end;
    first_row_ = (tile_ - begin) * kTileOutputs + warp() * 16 + lane() / 4;
    planes_ = job().planes;
#pragma unroll
    for (int r = 0; r < kRowsOfLane; ++r) {
      const int64_t row = min(static_cast<int64_t>(first_row_ + 8 * r), job().rows - 1);
      first_block_[r] = row * (a.cols / Units::kBlock);
    }
  }

  __device__ const TileArgs::Job& job() const { return a.jobs[job_]; }
  __device__ static int lane() { return static_cast<int>(threadIdx.x % 32); }
  __device__ static int warp() { return static_cast<int>(threadIdx.x / 32); }

  /// Loads this lane's units of a chunk of columns. Past the last row or column, other weights are
  /// loaded instead. They have no effect, because x is 0 in such columns, and the results of such
  /// rows are not written.
  __device__ __forceinline__ void load(int chunk, Unit (&to)[kSteps][kRowsOfLane]) const {
#pragma unroll
    for (int s = 0; s < kSteps; ++s) load_step(chunk, s, to[s]);
  }
  __device__ __forceinline__ void load_step(int chunk, int s, Unit (&to)[kRowsOfLane]) const {
    const int u = (chunk * kSteps + s) * kStepUnits + lane() % 4;
    const int block = min(u / Units::kUnits, a.cols / Units::kBlock - 1);
#pragma unroll
    for (int r = 0; r < kRowsOfLane; ++r) {
      to[r] = Units::load(planes_, first_block_[r] + block, u % Units::kUnits);
    }
  }

  /// Step and offset of a group of weights. Each is stored as a pair of two equal bf16.
  struct Factors {
    uint32_t step, offset;
  };
  __device__ __forceinline__ static Factors factors_of(const Weights16& w) {
    // An offset of -0 changes no weight.
    return {bf16_pair(w.step, w.step),
            Units::kOffset ? bf16_pair(w.offset, w.offset) : 0x80008000u};
  }

  /// Returns bytes i and i + 1 of a word of quants as weights, in a pair of bf16.
  __device__ __forceinline__ static uint32_t widen(uint32_t word, int i, const Factors& by) {
    constexpr uint32_t kOnes = 0x3f803f80u;
    uint32_t base, less;
    if constexpr (Units::kZero != 0 || Units::kOffset) {
      // A byte n is below 128, so the bits 0x4300 + n are those of the bf16 number 128 + n.
      base = __byte_perm(word, 0x43434343u, 0x4040u | static_cast<uint32_t>(i | (i + 1) << 8));
      less = bf16_pair_of(-(128.0f + Units::kZero));
    } else {
      // A signed byte is its low 7 bits, minus 128 if its sign bit is set.
      const uint32_t bytes =
          __byte_perm(word, 0, 0x4040u | static_cast<uint32_t>(i | (i + 1) << 8));
      base = masked_or(bytes, 0x007f007fu, 0x43004300u);
      less = masked_or(bytes, 0x00800080u, 0xc300c300u);
    }
    return fma_pairs(fma_pairs(base, kOnes, less), by.step, by.offset);
  }

  /// Writes the sums to y. If the columns are split into parts, the part that finishes last adds up
  /// the sums of all parts.
  __device__ void finish() {
    const int parts = static_cast<int>(gridDim.y);
    if (parts > 1) {
      const auto at = [&](int part, int i) {
        return a.partial +
               ((static_cast<int64_t>(part) * gridDim.x + tile_) * N + i) * kTileThreads +
               threadIdx.x;
      };
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float(&x)[4] = sums_[i];
        *at(static_cast<int>(blockIdx.y), i) = {x[0], x[1], x[2], x[3]};
      }
      __threadfence();
      __syncthreads();
      int last = 0;
      if (threadIdx.x == 0) {
        const auto most = static_cast<unsigned>(parts - 1);  // the counter wraps to 0
        last = atomicInc(reinterpret_cast<unsigned*>(a.counters) + tile_, most) == most;
      }
      if (__syncthreads_or(last) == 0) return;
      __threadfence();
#pragma unroll
      for (int i = 0; i < N; ++i) {
        float4 sum = {0, 0, 0, 0};
#pragma unroll 8
        for (int part = 0; part < parts; ++part) {
          const float4 x = __ldcg(at(part, i));
          sum = {sum.x + x.x, sum.y + x.y, sum.z + x.z, sum.w + x.w};
        }
        float(&x)[4] = sums_[i];
        x[0] = sum.x, x[1] = sum.y, x[2] = sum.z, x[3] = sum.w;
      }
    }
    write();
  }

  __device__ __forceinline__ void write() const {
#pragma unroll
    for (int r = 0; r < kRowsOfLane; ++r) {
      const int output = first_row_ + 8 * r;
      if (output >= job().rows) continue;
      const float bias = job().bias != nullptr ? job().bias[output] : 0.0f;
#pragma unroll
      for (int n = 0; n < N; ++n) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          const int row = 8 * n + 2 * (lane() % 4) + i;
          if (row >= a.x_rows) continue;
          float* const y = job().y + row * job().y_stride + output;
          const float sum = sums_[n][2 * r + i] + bias;
          *y = job().add ? __ldcg(y) + sum : sum;
        }
      }
    }
  }

  const TileArgs& a;
  int tile_ = 0, job_ = 0;
  Planes planes_;
  int64_t first_block_[kRowsOfLane];
  int first_row_ = 0;  // the first of the two weight rows of this lane
  float sums_[N][4] = {};
};

/// Multiplies a tile by mma.sync.
template <class Units, int N>
class RowTile : RowTileBase<Units, N> {
  using Base = RowTileBase<Units, N>;
  using Base::a, Base::kChunkCols, Base::kRowsOfLane, Base::kSteps, Base::kStepUnits, Base::lane,
      Base::sums_;
  using typename Base::Factors, typename Base::Unit;
  static constexpr int kPitch = tile_pitch(kChunkCols);
  static constexpr int kStageBytes = 8 * N * kPitch;

 public:
  __device__ RowTile(const TileArgs& args, uint32_t memory) : Base(args), memory_(memory) {}

  __device__ __forceinline__ void run() {
    const int chunks = (a.cols + kChunkCols - 1) / kChunkCols;
    const int first = static_cast<int>(blockIdx.y) * a.chunks_per_part;
    const int end = min(first + a.chunks_per_part, chunks);
    Unit now[kSteps][kRowsOfLane], next[kSteps][kRowsOfLane];
    this->load(first, now);
    await_turn();
#pragma unroll
    for (int i = 0; i < kTileStages - 1; ++i) copy_x(first + i, end, i);
    int stage = 0, free = kTileStages - 1;
    for (int chunk = first; chunk < end; ++chunk) {
      this->load(min(chunk + 1, end - 1), next);
      wait_copies<kTileStages - 2>();
      __syncthreads();  // the chunk has arrived, and no warp reads the previous one any more
      copy_x(chunk + kTileStages - 1, end, free);
      free = stage;
#pragma unroll
      for (int s = 0; s < kSteps; ++s)
        multiply_step(chunk, s, now[s], memory_ + stage * kStageBytes);
      stage = stage + 1 == kTileStages ? 0 : stage + 1;
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
#pragma unroll
        for (int r = 0; r < kRowsOfLane; ++r) now[s][r] = next[s][r];
      }
    }
    wait_copies<0>();
    this->finish();
  }

 private:
  /// Starts the copy of a chunk of x. It always creates a group of copies, even an empty one, so
  /// that groups can be counted.
  __device__ __forceinline__ void copy_x(int chunk, int end, int stage) const {
    constexpr int kWords = kChunkCols / 8, kAll = 8 * N * kWords;
    if (chunk < end) {
#pragma unroll
      for (int first = 0; first < kAll; first += kTileThreads) {
        const int at = first + static_cast<int>(threadIdx.x);
        if (kAll % kTileThreads != 0 && at >= kAll) break;
        const int row = at / kWords, col = chunk * kChunkCols + at % kWords * 8;
        const bool present = row < a.x_rows && col < a.cols;
        const uint16_t* const from = a.x + (present ? static_cast<int64_t>(row) * a.cols + col : 0);
        copy_16(memory_ + stage * kStageBytes + row * kPitch + at % kWords * 16, from, present);
      }
    }
    commit_copies();
  }

  /// Multiplies the four units of each row in step `s` of a chunk. Group k of four units covers 64
  /// columns. In both operands, lane l multiplies the columns that belong to unit l % 4.
  __device__ __forceinline__ void multiply_step(int chunk, int s, const Unit (&units)[kRowsOfLane],
                                                uint32_t x) {
    const int u = (chunk * kSteps + s) * kStepUnits + lane() % 4;
#pragma unroll
    for (int k = 0; k < Units::kGroups; ++k) {
      const int group = u / Units::kUnits * (Units::kBlock / 16) +
                        Units::group(u % Units::kUnits, k) - chunk * (kChunkCols / 16);
      const uint32_t from = x + lane() / 4 * kPitch + 32 * group;
      Weights16 w[kRowsOfLane];
      Factors by[kRowsOfLane];
#pragma unroll
      for (int r = 0; r < kRowsOfLane; ++r) {
        w[r] = Units::weights(units[r], u % Units::kUnits, k);
        by[r] = Base::factors_of(w[r]);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        uint32_t q[2][4];  // one set per word of quants
#pragma unroll
        for (int j = 0; j < 2; ++j) {
#pragma unroll
          for (int r = 0; r < kRowsOfLane; ++r) {
            const uint32_t word = w[r].q[2 * half + j];
            q[j][r] = Base::widen(word, 0, by[r]);
            q[j][r + 2] = Base::widen(word, 2, by[r]);
          }
        }
#pragma unroll
        for (int n = 0; n < N; ++n) {
          const uint4 b = load_16(from + 8 * n * kPitch + 16 * half);
          multiply(sums_[n], q[0], b.x, b.y);
          multiply(sums_[n], q[1], b.z, b.w);
        }
      }
    }
  }

  const uint32_t memory_;
};

template <class Units, int N>
__global__ void __launch_bounds__(kTileThreads, 1)
    row_tile_kernel(const __grid_constant__ TileArgs a) {
  extern __shared__ uint4 shared[];
  RowTile<Units, N>(a, shared_address(shared)).run();
}

/// Returns the TileForm for the type. If the list does not contain the type, the result has no
/// kernel.
template <class List>
TileForm tile_form_among(List list, DType type, int64_t rows) {
  TileForm form;
  with_one_of(list, type, [&](auto units) {
    using Units = decltype(units);
    const int groups = row_groups_of(rows);
    form.kernel = groups == 2   ? row_tile_kernel<Units, 2>
                  : groups == 4 ? row_tile_kernel<Units, 4>
                                : row_tile_kernel<Units, 8>;
    form.chunk_cols = tile_chunk_cols<Units>();
    form.shared = tile_bytes(rows, form.chunk_cols);
  });
  return form;
}

}  // namespace longhaul::cuda
