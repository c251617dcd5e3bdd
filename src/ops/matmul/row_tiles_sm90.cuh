#pragma once
// The kernel of row_tiles.gpu.h on Hopper. Each of four warpgroups multiplies 64 weight rows by all
// rows of x (wgmma). The weights are converted in registers, as in row_tiles.cuh. x is in shared
// memory, with the 128-byte swizzle. Tensor cores read it once per warpgroup instead of once per
// warp.
//
// A product here covers 64 columns: one group of 16 weights of each of the four lanes that share a
// weight row. It consists of four instructions of 16 columns. Instruction t multiplies weights
// 4 * t to 4 * t + 3 of each lane. x is stored in this order of columns.

#include "ops/core/gpu/hopper.cuh"
#include "ops/matmul/row_tiles.cuh"

namespace longhaul::cuda {

/// Returns the size in bytes of the dynamic shared memory of a thread block. It includes 1024 bytes
/// with which the first stage is aligned to 1024 bytes.
inline size_t tile_bytes_sm90(int64_t rows, int chunk_cols) {
  return static_cast<size_t>(kTileStages * 8 * row_groups_of(rows) * 2 * chunk_cols + 1024);
}

template <class Units, int N>
class RowTileSm90 : RowTileBase<Units, N> {
  using Base = RowTileBase<Units, N>;
  using Base::a, Base::kChunkCols, Base::kRowsOfLane, Base::kSteps, Base::kStepUnits, Base::lane,
      Base::sums_;
  using typename Base::Factors, typename Base::Unit;
  static constexpr int kProducts = kSteps * Units::kGroups;  ///< number of products in a chunk
  /// Size in bytes of 64 columns of all rows of x.
  static constexpr int kProductBytes = 8 * N * 128;
  static constexpr int kStageBytes = kProducts * kProductBytes;
  static constexpr int kPieces = kStageBytes / 16;  ///< number of pieces of 8 columns of a row of x
  static constexpr int kOwnPieces = (kPieces + kTileThreads - 1) / kTileThreads;
  /// A chunk of x is loaded in several parts, because few registers are left.
  static constexpr int kParts = kOwnPieces > 2 ? 2 : 1;
  static constexpr int kPartPieces = kOwnPieces / kParts;
  static constexpr int kPartProducts = kProducts / kParts;
  /// Number of sets of converted weights. With two sets, weights are converted while a product
  /// runs. For types with several groups per unit, the registers do not suffice for two.
  static constexpr int kSets = Units::kGroups == 1 ? 2 : 1;

 public:
  __device__ RowTileSm90(const TileArgs& args, uint32_t memory)
      : Base(args), memory_((memory + 1023) & ~1023u) {}

  __device__ __forceinline__ void run() {
    const int chunks = (a.cols + kChunkCols - 1) / kChunkCols;
    const int first = static_cast<int>(blockIdx.y) * a.chunks_per_part;
    const int end = min(first + a.chunks_per_part, chunks);
    Unit units[kSteps][kRowsOfLane];
    this->load(first, units);
    await_turn();
    uint4 x[kPartPieces];
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      load_x(first, part, x);
      store_x(x, part, memory_);
    }
    publish_to_engines();
    __syncthreads();
    int stage = 0;
    for (int chunk = first; chunk < end; ++chunk) {
      const int next = stage + 1 == kTileStages ? 0 : stage + 1;
      multiply_chunk(chunk, end, memory_ + stage * kStageBytes, memory_ + next * kStageBytes,
                     units);
      publish_to_engines();
      __syncthreads();
      stage = next;
    }
    wgmma_wait<0>();
    this->finish();
  }

 private:
  /// Multiplies a chunk, and loads the next chunk of x to stage `next`. Products that read the
  /// earlier contents of `next` must have ended in all warps.
  __device__ __forceinline__ void multiply_chunk(int chunk, int end, uint32_t stage, uint32_t next,
                                                 Unit (&units)[kSteps][kRowsOfLane]) {
    const int following = min(chunk + 1, end - 1);
    const uint64_t rows = matrix_at(stage, 16, 1024);
    uint4 x[kPartPieces];
    uint32_t q[kSets][16];
#pragma unroll
    for (int product = 0; product < kProducts; ++product) {
      const int s = product / Units::kGroups, k = product % Units::kGroups;
      if (product % kPartProducts == 0) load_x(following, product / kPartProducts, x);
      wgmma_wait<kSets - 1>();  // waits until the product that reads this set has ended
      convert(chunk, s, k, units[s], q[product % kSets]);
      if (k == Units::kGroups - 1) this->load_step(following, s, units[s]);
      multiply(q[product % kSets], matrix_behind(rows, product * kProductBytes));
      if ((product + 1) % kPartProducts == 0) store_x(x, product / kPartProducts, next);
    }
  }

  /// Loads this thread's pieces of a part of a chunk of x. Pieces past the last row or column are
  /// zeros. The previous kernel may have written x while this one already ran, so the L1 cache is
  /// not used.
  __device__ __forceinline__ void load_x(int chunk, int part, uint4 (&x)[kPartPieces]) const {
#pragma unroll
    for (int i = 0; i < kPartPieces; ++i) {
      const Piece piece(part * kPartPieces + i);
      const int col = chunk * kChunkCols + 16 * piece.group() + 8 * piece.half;
      const bool present = piece.present() && piece.row < a.x_rows && col < a.cols;
      x[i] = make_uint4(0, 0, 0, 0);
      if (present) {
        const uint16_t* const from = a.x + static_cast<int64_t>(piece.row) * a.cols + col;
        x[i] = __ldcg(reinterpret_cast<const uint4*>(from));
      }
    }
  }

  __device__ __forceinline__ void store_x(const uint4 (&x)[kPartPieces], int part,
                                          uint32_t stage) const {
#pragma unroll
    for (int i = 0; i < kPartPieces; ++i) {
      const Piece piece(part * kPartPieces + i);
      if (!piece.present()) break;
      const uint32_t row = stage + piece.product * kProductBytes + piece.row * 128 + 4 * piece.unit;
      const uint32_t words[4] = {x[i].x, x[i].y, x[i].z, x[i].w};
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        // Pair w of the piece belongs to instruction 2 * half + w / 2, and there to half w % 2 of
        // the columns.
        const int place = 4 * piece.half + w;
        asm volatile("st.shared.b32 [%0], %1;" ::"r"(row + (place ^ piece.row % 8) * 16),
                     "r"(words[w])
                     : "memory");
      }
    }
  }

  /// Eight columns of a row of x: one half of a group of 16.
  struct Piece {
    __device__ __forceinline__ explicit Piece(int i) {
      const int at = i * kTileThreads + static_cast<int>(threadIdx.x);
      half = at % 2;
      unit = at / 2 % 4;
      row = at / 8 % (8 * N);
      product = at / (64 * N);
    }
    __device__ bool present() const { return kPieces % kTileThreads == 0 || product < kProducts; }
    /// Returns the number of the group of 16 columns in its chunk.
    __device__ int group() const {
      const int u = product / Units::kGroups * kStepUnits + unit;
      return u / Units::kUnits * (Units::kBlock / 16) +
             Units::group(u % Units::kUnits, product % Units::kGroups);
    }
    int half, unit, row, product;
  };

  /// Converts group k of this lane's units to bf16, in the order in which the four instructions
  /// read it.
  __device__ __forceinline__ static void convert(int chunk, int s, int k,
                                                 const Unit (&units)[kRowsOfLane],
                                                 uint32_t (&q)[16]) {
    const int u = (chunk * kSteps + s) * kStepUnits + lane() % 4;
#pragma unroll
    for (int r = 0; r < kRowsOfLane; ++r) {
      const Weights16 w = Units::weights(units[r], u % Units::kUnits, k);
      const Factors by = Base::factors_of(w);
#pragma unroll
      for (int t = 0; t < 4; ++t) {
        q[4 * t + r] = Base::widen(w.q[t], 0, by);
        q[4 * t + r + 2] = Base::widen(w.q[t], 2, by);
      }
    }
  }

  /// Starts the four instructions of a product.
  __device__ __forceinline__ void multiply(const uint32_t (&q)[16], uint64_t x) {
    auto& sums = reinterpret_cast<float(&)[4 * N]>(sums_);
    wgmma_fence();
#pragma unroll
    for (int t = 0; t < 4; ++t) {
      wgmma_registers_by_rows(sums, q + 4 * t, matrix_behind(x, 32 * t), 1);
    }
    wgmma_commit();
  }

  const uint32_t memory_;
};

template <class Units, int N>
__global__ void __launch_bounds__(kTileThreads, 1)
    row_tile_kernel_sm90(const __grid_constant__ TileArgs a) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ uint4 shared[];
  RowTileSm90<Units, N>(a, shared_address(shared)).run();
#endif
}

/// Returns the TileForm for the type. If the list does not contain the type, the result has no
/// kernel.
template <class List>
TileForm tile_form_sm90_among(List list, DType type, int64_t rows) {
  TileForm form;
  with_one_of(list, type, [&](auto units) {
    using Units = decltype(units);
    const int groups = row_groups_of(rows);
    form.kernel = groups == 2   ? row_tile_kernel_sm90<Units, 2>
                  : groups == 4 ? row_tile_kernel_sm90<Units, 4>
                                : row_tile_kernel_sm90<Units, 8>;
    form.chunk_cols = tile_chunk_cols<Units>();
    form.shared = tile_bytes_sm90(rows, form.chunk_cols);
  });
  return form;
}

}  // namespace longhaul::cuda
