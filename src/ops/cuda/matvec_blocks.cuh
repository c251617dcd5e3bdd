#pragma once
// Quantized weights against x in int8. In shared memory each group of 16 of x is one 16-byte word
// with (scale, scale * sum); they lie in the order in which the lanes read them: group k of unit u
// at k * units + u, so that neighbouring lanes meet neighbouring words.

#include "ops/cuda/matvec_kernel.cuh"

namespace longhaul::cuda {

template <class Units, class Form>
struct BlockMatvec {
  static constexpr int kGroups = Units::kGroups;
  static constexpr int kUnroll =
      (sizeof(typename Units::Unit) <= 32 ? 4 : 2) / (Form::kRows > 1 ? 2 : 1);

  Word4* q;           // [kRowsOfX][groups]
  float2* f;          // the same: scale, scale * sum
  int groups, units;  // of a chunk

  __device__ static BlockMatvec in(void* shared, int chunk_cols) {
    BlockMatvec s;
    s.groups = (chunk_cols + 255) / 256 * 16;
    s.units = s.groups / kGroups;
    s.q = static_cast<Word4*>(shared);
    s.f = reinterpret_cast<float2*>(s.q + Form::kRowsOfX * s.groups);
    return s;
  }

  /// Eight lanes round a block of 32 as ops/cpu/quantize_groups.h does.
  __device__ void stage(const MatvecArgs& a, int first, int cols) const {
    const int lane = threadIdx.x % 8, blocks = cols / 32, all = blocks * Form::kRowsOfX;
    for (int base = threadIdx.x / 32 * 4; base < all; base += Form::kThreads / 8) {
      const int i = base + threadIdx.x % 32 / 8;
      const int m = i / blocks, b = i - m * blocks;
      const float4 v = i < all ? load_x4(a, m, first + 32 * b + 4 * lane) : float4{0, 0, 0, 0};
      float amax = fmaxf(fmaxf(fabsf(v.x), fabsf(v.y)), fmaxf(fabsf(v.z), fabsf(v.w)));
      for (int d = 4; d > 0; d /= 2) amax = fmaxf(amax, __shfl_xor_sync(~0u, amax, d));
      const float inverse = amax > 1e-36f ? __fdiv_rn(127.0f, amax) : 0.0f;
      const int q0 = rounded(v.x, inverse), q1 = rounded(v.y, inverse);
      const int q2 = rounded(v.z, inverse), q3 = rounded(v.w, inverse);
      int sum = q0 + q1 + q2 + q3;
      for (int d = 2; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
      if (i >= all) continue;
      const int at = m * groups + slot(2 * b + lane / 4);
      q[at].w[lane % 4] = (q0 & 255) | (q1 & 255) << 8 | (q2 & 255) << 16 | q3 << 24;
      if (lane % 4 == 0) {
        const float scale = __fdiv_rn(amax, 127.0f);
        f[at] = {scale, __fmul_rn(scale, static_cast<float>(sum))};
      }
    }
  }

  __device__ static int rounded(float x, float inverse) {
    return static_cast<int>(bits_of(__fadd_rn(__fmul_rn(x, inverse), 12582912.0f)) - 0x4b400000u);
  }

  /// Where group `g` of the chunk lies.
  __device__ int slot(int g) const {
    constexpr int kPerBlock = Units::kBlock / 16;
    const GroupPlace place = Units::place(g % kPerBlock);
    return place.k * units + g / kPerBlock * Units::kUnits + place.u;
  }

  __device__ void add(const MatvecArgs& a, const MatvecArgs::Job& job, int64_t row, int first,
                      int cols, float (&sums)[Form::kRows][Form::kRowsOfX]) const {
    const int n = cols / Units::kBlock * Units::kUnits;
    int64_t blocks[Form::kRows];  // the first of each row
#pragma unroll
    for (int r = 0; r < Form::kRows; ++r) {
      const int64_t at = min(row + r, job.rows - 1);
      blocks[r] = at * (a.cols / Units::kBlock) + first / Units::kBlock;
    }
    for (int u0 = threadIdx.x % Form::kLanes; u0 < n; u0 += Form::kLanes * kUnroll) {
      typename Units::Unit loaded[kUnroll][Form::kRows];
#pragma unroll
      for (int i = 0; i < kUnroll; ++i) {
        const int u = u0 + i * Form::kLanes;
        if (u >= n) continue;
#pragma unroll
        for (int r = 0; r < Form::kRows; ++r) {
          loaded[i][r] = Units::load(job.planes, blocks[r] + u / Units::kUnits, u % Units::kUnits);
        }
      }
#pragma unroll
      for (int i = 0; i < kUnroll; ++i) {
        const int u = u0 + i * Form::kLanes;
        if (u < n) add_unit(loaded[i], u, sums);
      }
    }
  }

  __device__ void add_unit(const typename Units::Unit (&loaded)[Form::kRows], int u,
                           float (&sums)[Form::kRows][Form::kRowsOfX]) const {
#pragma unroll
    for (int k = 0; k < kGroups; ++k) {
      Weights16 w[Form::kRows];
#pragma unroll
      for (int r = 0; r < Form::kRows; ++r) {
        w[r] = Units::weights(loaded[r], u % Units::kUnits, k);
      }
#pragma unroll
      for (int m = 0; m < Form::kRowsOfX; ++m) {
        const int at = m * groups + k * units + u;
        const Word4 x = q[at];
        const float2 factors = f[at];
#pragma unroll
        for (int r = 0; r < Form::kRows; ++r) {
          sums[r][m] += group_product<Units>(w[r], x, factors.x, factors.y);
        }
      }
    }
  }
};

template <class Units, class Form>
__global__ void __launch_bounds__(Form::kThreads, Form::kLeastBlocks)
    block_matvec_kernel(__grid_constant__ const MatvecArgs a, int batches) {
  extern __shared__ uint4 shared[];
  const auto x = BlockMatvec<Units, Form>::in(shared, a.chunk_cols);
  walk_batches<Form>(
      a, batches, [&](int first, int cols) { x.stage(a, first, cols); },
      [&](const MatvecArgs::Job& job, int64_t row, int first, int cols, auto& sums) {
        x.add(a, job, row, first, cols, sums);
      });
}

template <class Units, int kM, int kL>
MatvecLaunch block_launch() {
  using Form = MatvecForm<kM, kL>;
  return {block_matvec_kernel<Units, Form>, Form::kThreads, Form::kBatch, size_t{kM} * 16 * 24};
}

template <class Units>
MatvecLaunch block_launch(int64_t rows, int lanes) {
  if (lanes == 8) {
    if (rows == 1) return block_launch<Units, 1, 8>();
    return rows <= 4 ? block_launch<Units, 4, 8>() : block_launch<Units, 8, 8>();
  }
  if (rows == 1) return block_launch<Units, 1, 32>();
  return rows <= 4 ? block_launch<Units, 4, 32>() : block_launch<Units, 8, 32>();
}

}  // namespace longhaul::cuda
