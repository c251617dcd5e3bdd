#include "ops/matmul/packed_outputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/core/isa/isa.h"
#include "ops/matmul/dequantize.h"
#include "ops/matmul/low_rank_kernels.h"

namespace longhaul {
namespace {

constexpr int64_t kTile = 16;          // outputs
constexpr int64_t kTilesPerPart = 24;  // fewer are not worth another thread

int64_t tiles_of(const PackedJob& job) { return (job.b->outputs() + kTile - 1) / kTile; }

/// Writes 32 elements of the rank for one output to their places in a block. If a damaged file
/// contains NaN or infinity, the block's scale is NaN, and so are its products.
void pack_row(const float* row, int count, int64_t output, uint8_t* block) {
  float largest = 0;
  bool numbers = true;
  for (int i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(row[i]));
    numbers = numbers && std::isfinite(row[i]);
  }
  const float scale = numbers ? largest / 127 : std::numeric_limits<float>::quiet_NaN();
  for (int i = 0; i < 32; ++i) {
    const float q =
        i < count && scale > 0 ? std::clamp(std::nearbyint(row[i] / scale), -127.0f, 127.0f) : 0.0f;
    block[64 * (i / 4) + 4 * output + i % 4] = static_cast<uint8_t>(static_cast<int>(q) + 128);
  }
  std::memcpy(block + 512 + 4 * output, &scale, sizeof scale);
}

}  // namespace

PackedOutputs::PackedOutputs(const TensorView& b)
    : outputs_(b.rows()), rank_blocks_((b.cols() + 31) / 32) {
  const int64_t tiles = (outputs_ + kTile - 1) / kTile, rank = b.cols();
  blocks_.resize(static_cast<size_t>(tiles * rank_blocks_ * kPackedBlockBytes));
  std::vector<float> row(static_cast<size_t>(rank_blocks_ * 32));
  for (int64_t n = 0; n < tiles * kTile; ++n) {
    const bool live = n < outputs_;
    if (live) dequantize_row(b.type, b.row(n), rank, row.data());
    uint8_t* block = blocks_.data() + n / kTile * rank_blocks_ * kPackedBlockBytes;
    for (int64_t r = 0; r < rank_blocks_; ++r, block += kPackedBlockBytes) {
      const int count = live ? static_cast<int>(std::min<int64_t>(32, rank - 32 * r)) : 0;
      pack_row(row.data() + 32 * r, count, n % kTile, block);
    }
  }
}

void add_packed(std::span<const PackedJob> jobs) {
  int64_t tiles = 0;
  for (const PackedJob& job : jobs) tiles += tiles_of(job);
  const LowRankKernels& kernels = kLowRank_for(current_isa());
  parallel_ranges(tiles, kTilesPerPart, [&](int64_t begin, int64_t end) {
    const PackedJob* job = jobs.data();
    int64_t first = 0;  // first tile of the job
    for (; begin < end; ++begin) {
      while (begin - first >= tiles_of(*job)) first += tiles_of(*job++);
      const int64_t tile = begin - first, output = kTile * tile;
      kernels.add(job->b->tile(tile), job->b->rank_blocks(), job->t->groups(job->row),
                  job->y + output, static_cast<int>(std::min(kTile, job->b->outputs() - output)));
    }
  });
}

}  // namespace longhaul
