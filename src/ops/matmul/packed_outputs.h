#pragma once
// The second matrix (B) of a low-rank adapter in the format that decoding reads: int8, with a scale
// for each output and each 32 elements of the rank. Rows of B are short, so reading them one by one
// would be slow.

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/tensor_view.h"

namespace longhaul {

class ActivationRows;

/// Size in bytes of a block of 16 outputs and 32 elements of the rank. The block holds eight pieces
/// of [16 outputs][4 elements of the rank] as q + 128, and then 16 scales in f32.
inline constexpr int64_t kPackedBlockBytes = 512 + 64;

class PackedOutputs {
 public:
  PackedOutputs() = default;
  /// Packs b [outputs, rank], which may have any type. Q8_0 is converted without rounding.
  explicit PackedOutputs(const TensorView& b);

  int64_t outputs() const { return outputs_; }
  int64_t rank_blocks() const { return rank_blocks_; }
  size_t bytes() const { return blocks_.size(); }
  /// Returns the blocks of outputs [16 * tile, 16 * tile + 16).
  const uint8_t* tile(int64_t tile) const {
    return blocks_.data() + tile * rank_blocks_ * kPackedBlockBytes;
  }

 private:
  int64_t outputs_ = 0, rank_blocks_ = 0;
  Buffer<uint8_t> blocks_;
};

struct PackedJob {
  const PackedOutputs* b;
  const ActivationRows* t;  ///< [rows, rank]: scale * (x A^T), see low_rank.h; quantize() must have
                            ///< been called
  int64_t row;              ///< number of the row of t
  float* y;                 ///< [outputs]
};

/// Adds B t to y for each job, in one parallel region. t is one row of PackedJob::t.
void add_packed(std::span<const PackedJob> jobs);

}  // namespace longhaul
