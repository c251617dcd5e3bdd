#pragma once
// Code that is common to all block_mass() kernels. The kernels sum exponentials over blocks of
// keys. The exponentials are relative to the row's largest logit in a tile of 128 keys, and this
// logit is stored with the sums. A flat row is the query of one head of one query row. A job is the
// work of some consecutive thread blocks (score_plan.h).

#include "ops/core/gpu/reductions.cuh"
#include "ops/maps/score_call.cuh"

namespace longhaul::cuda {

inline constexpr int kMassRows = 128;  ///< flat rows per thread block
inline constexpr float kNothingSeen = -1e30f;
static_assert(kMassRows == kScoreKeys);

struct MassArgs {
  ScoreArgs score;
  int32_t width;  ///< elements of a query
  int32_t block;  ///< keys per block of keys
};

/// Returns the number of tiles of 128 keys in a job.
LH_BOTH int32_t mass_tiles(const ScoreJob& job) {
  return (job.keys.count + kScoreKeys - 1) / kScoreKeys;
}

/// Returns the address at which the largest logits of flat row f are stored, one for each tile of
/// 128 keys, in base 2.
__device__ __forceinline__ float* tops_of(const MassArgs& a, const ScoreJob& job, int f) {
  return a.score.room + job.partial + static_cast<int64_t>(f) * mass_tiles(job);
}

/// Returns the bf16 query of flat row f of the job.
__device__ __forceinline__ const uint16_t* flat_row(const MassArgs& a, const ScoreJob& job, int f) {
  const int64_t row = job.row_begin + f / job.head_count;
  return job.queries + (row * a.score.heads + job.head_begin + f % job.head_count) * a.width;
}

/// Returns whether any of the 128 flat rows from row `flat` on sees any of the `keys` keys.
/// `offsets` are the positions of the keys relative to the job's first row. They ascend, so it
/// suffices to check the first and the last key.
__device__ __forceinline__ bool any_seen(const ScoreJob& job, int flat, const int32_t* offsets,
                                         int keys) {
  const int first = flat / job.head_count;
  const int last = (min(flat + kMassRows, job.row_count * job.head_count) - 1) / job.head_count;
  return last - offsets[0] >= job.keys.nearest && first - offsets[keys - 1] < job.keys.furthest;
}

/// Writes the sums of a warp's flat rows over the keys of a tile. `flat` is the first flat row of
/// the thread block. at(g, i) is the logit of the warp's row lane / 4 + 8 * (i / 2) and of the
/// tile's key 8 * g + 2 * (lane % 4) + i % 2. `offsets` are the positions of the keys relative to
/// the job's first row.
template <class Logits>
__device__ __forceinline__ void write_sums(const MassArgs& a, const ScoreJob& job, int flat,
                                           int tile, const int32_t* offsets, Logits&& at) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int blocks = (job.keys.count + a.block - 1) / a.block;
  const int groups = a.block / 8, first_block = tile * (kScoreKeys / a.block);
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int f = flat + 16 * warp + lane / 4 + 8 * h;
    const bool present = f < job.row_count * job.head_count;
    const int row = f / job.head_count;
    float top = -INFINITY;
#pragma unroll
    for (int g = 0; g < kScoreKeys / 8; ++g) {
#pragma unroll
      for (int i = 2 * h; i < 2 * h + 2; ++i) {
        const int32_t offset = offsets[8 * g + 2 * (lane % 4) + i % 2];
        if (!sees(job.keys.nearest, job.keys.furthest, row, offset)) at(g, i) = -INFINITY;
        top = fmaxf(top, at(g, i));
      }
    }
    top = quad_max(top);
    const bool blind = top == -INFINITY;
    const float base = blind ? 0.0f : top;
    float* const sums = job.out + f * job.stride + first_block;
    float sum = 0;
#pragma unroll
    for (int g = 0; g < kScoreKeys / 8; ++g) {
      sum += exp2_of((at(g, 2 * h) - base) * a.score.logits.scale) +
             exp2_of((at(g, 2 * h + 1) - base) * a.score.logits.scale);
      if ((g + 1) % groups != 0) continue;
      sum = quad_sum(sum);
      const int b = g / groups;
      if (present && lane % 4 == 0 && first_block + b < blocks) sums[b] = sum;
      sum = 0;
    }
    if (present && lane % 4 == 0) {
      tops_of(a, job, f)[tile] = blind ? kNothingSeen : top * a.score.logits.scale;
    }
  }
}

// The kernel for Hopper has tiles of 256 keys. It supports bf16 keys with at least 512 elements, in
// multiples of 64.
inline constexpr int kWideKeys = 256;
LH_BOTH int32_t wide_tiles(const ScoreJob& job) {
  return (job.keys.count + kWideKeys - 1) / kWideKeys;
}
/// Returns whether the wgmma kernel can run the job. It is used only for keys of at least 512
/// elements, because it starts and ends slowly.
inline bool takes_sm90(const ScoreJob& job, int width) {
  return job.keys.key_type == PageType::kBF16 && width % 64 == 0 && width >= 512;
}
/// Launches the wgmma kernel. Jobs must be planned with wide_tiles() tiles. `blocks` is the number
/// of thread blocks.
void launch_block_mass_sm90(Stream stream, const MassArgs& args, int blocks);

}  // namespace longhaul::cuda
