#pragma once
// InfLLM's index of blocks of old tokens (Xiao et al. 2024, section 3.2). For each block and query
// head, it has vectors that represent the keys of the block. Each generated token searches the
// vectors of all blocks. On the host, a search first scores all blocks with a 4-bit copy of the
// vectors, and then scores the best of them with the exact vectors. This reads a quarter of the
// bytes and finds the same blocks as a search of the exact vectors.

#include <cstddef>
#include <cstdint>

#include "ops/blocks/key_vectors.h"
#include "ops/choose/select_rows.h"
#include "ops/matmul/matvec.h"

namespace longhaul {

/// Buffers of a search, reused between calls.
struct BlockSearch {
  Array<float> scores;  ///< per block: its score
  /// Dot products of vectors with the queries of the heads that are processed together.
  Array<float> dots;
  Array<std::byte> candidates;  ///< exact vectors of the blocks that score best with the 4-bit copy
  Array<int32_t> blocks;        ///< result of the search
  RowSelection first, best;
  ActivationRows query;
};

/// Vectors [blocks, heads, count, head_dim] of `type`, which represent blocks.
struct BlockVectors {
  View<const uint8_t> vectors;
  DType type = DType::BF16;
  int64_t heads = 0, count = 0, head_dim = 0;

  bool lies_on(Place place) const { return vectors.place() == place; }
};

/// Writes the score of every block to `scores`, which has one element per block.
inline const DeviceOperation<bool(const BlockVectors&, View<const float> query, View<float> scores)>
    kBlockScores;

class BlockIndex {
 public:
  BlockIndex(int64_t heads, int64_t vectors, int64_t head_dim);

  /// Adds blocks with vectors [blocks, heads, vectors, head_dim], stored as `type` (KeyVectors).
  /// All calls must pass the same type.
  void append(Queue& queue, View<const float> added, DType type);
  int64_t blocks() const { return vectors_.elements() / width(); }
  /// Returns whether blocks with vectors of this type may be added.
  bool takes(DType type) const { return vectors_.takes(type); }

  /// Returns the numbers of the k blocks with the highest scores, in ascending order. If there are
  /// fewer blocks, all are returned. If two blocks have equal scores, the block with the lower
  /// number is preferred. The score of a block is a sum over heads. Each head contributes the
  /// largest dot product of its query and a vector of the block. query is [heads, head_dim]. The
  /// result is stored in `memory`.
  RowList top(Queue& queue, View<const float> query, int64_t k, BlockSearch& memory);
  BlockVectors vectors() const {
    return {vectors_.stored(), vectors_.type(), heads_, count_, head_dim_};
  }

  size_t bytes() const { return vectors_.bytes() + copy_.bytes(); }
  /// Returns the bytes of an index with `blocks` blocks.
  size_t bytes_for(int64_t blocks, DType type) const;

  void archive(Archive& archive);  ///< throws UserError if the file is invalid

 private:
  /// Returns the number of elements per block.
  int64_t width() const { return heads_ * count_ * head_dim_; }
  int64_t columns() const { return count_ == 1 ? width() : head_dim_; }
  void copy_block(int64_t block);
  TensorView rows(const std::byte* data, DType type, int64_t blocks) const;
  RowList top_on_device(Queue& queue, View<const float> query, int64_t k, BlockSearch& memory);
  void move_to_device(Queue& queue);
  View<const float> scores(Queue& queue, const TensorView& rows, View<const float> query,
                           BlockSearch& memory) const;

  int64_t heads_, count_, head_dim_;
  KeyVectors vectors_;  ///< [blocks, heads, count, head_dim]
  bool has_copy_;       ///< whether there is a 4-bit copy, which only an index on the host has
  /// A copy of vectors_ in Q4_0. Before rounding, the vector `common_` of the same head is
  /// subtracted from each vector. This changes all scores equally. Without it, the part that all
  /// keys have in common would use most of the 4-bit range.
  KeyVectors copy_;
  /// Vectors of the first block. The first vector of each head is subtracted from the vectors of
  /// that head.
  std::vector<float> common_;
};

}  // namespace longhaul
