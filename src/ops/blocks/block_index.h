#pragma once
// InfLLM's index for looking up blocks (Xiao et al. 2024, 3.2). For each block and query head it
// has vectors that represent the block's keys. Every token reads the index of the whole text. On
// the host, a look-up therefore reads a 4-bit copy of the vectors first, and then the exact vectors
// of the blocks with the best scores. It reads a quarter of the bytes and finds the same blocks as
// the exact vectors alone.

#include <cstddef>
#include <cstdint>

#include "ops/blocks/key_vectors.h"
#include "ops/choose/select_rows.h"
#include "ops/matmul/matvec.h"

namespace longhaul {

/// Memory of a look-up, reused from call to call.
struct BlockSearch {
  Array<float> scores;          ///< per block
  Array<float> dots;            ///< products of vectors with some heads' queries
  Array<std::byte> candidates;  ///< vectors of the best blocks by the copy
  Array<int32_t> blocks;        ///< the result
  RowSelection first, best;
  ActivationRows query;
};

/// Vectors that represent blocks, [blocks, heads, count, head_dim] of `type`.
struct BlockVectors {
  View<const uint8_t> vectors;
  DType type = DType::BF16;
  int64_t heads = 0, count = 0, head_dim = 0;

  bool lies_on(Place place) const { return vectors.place() == place; }
};

/// Writes the score of every block to `scores`, of the same size.
inline const DeviceOperation<bool(const BlockVectors&, View<const float> query, View<float> scores)>
    kBlockScores;

class BlockIndex {
 public:
  BlockIndex(int64_t heads, int64_t vectors, int64_t head_dim);

  /// Adds blocks [blocks, heads, vectors, head_dim], stored as `type` (KeyVectors), which must not
  /// change.
  void append(Queue& queue, View<const float> added, DType type);
  int64_t blocks() const { return vectors_.elements() / width(); }
  /// Returns whether blocks of this type may be added.
  bool takes(DType type) const { return vectors_.takes(type); }

  /// Returns the k blocks with the highest scores in ascending order, or all blocks if there are
  /// fewer. Of equal scores the lower block wins. The score is the sum over heads of the largest
  /// <query, vector>. query is [heads, head_dim]. The result is stored in `memory`.
  RowList top(Queue& queue, View<const float> query, int64_t k, BlockSearch& memory);
  BlockVectors vectors() const {
    return {vectors_.stored(), vectors_.type(), heads_, count_, head_dim_};
  }

  size_t bytes() const { return vectors_.bytes() + copy_.bytes(); }
  /// Returns the bytes of an index with `blocks` blocks.
  size_t bytes_for(int64_t blocks, DType type) const;

  void archive(Archive& archive);  ///< throws UserError if the file is invalid

 private:
  int64_t width() const { return heads_ * count_ * head_dim_; }  ///< elements per block
  int64_t columns() const { return count_ == 1 ? width() : head_dim_; }
  void copy_block(int64_t block);
  TensorView rows(const std::byte* data, DType type, int64_t blocks) const;
  RowList top_on_device(Queue& queue, View<const float> query, int64_t k, BlockSearch& memory);
  void move_to_device(Queue& queue);
  View<const float> scores(Queue& queue, const TensorView& rows, View<const float> query,
                           BlockSearch& memory) const;

  int64_t heads_, count_, head_dim_;
  KeyVectors vectors_;  ///< [blocks, heads, count, head_dim]
  bool has_copy_;       ///< on the host
  /// vectors_ in Q4_0, minus the first block's first vector of each head. The subtraction shifts
  /// all scores equally, and without it the part common to all keys would use most of the range.
  KeyVectors copy_;
  std::vector<float> common_;  ///< the first block
};

}  // namespace longhaul
