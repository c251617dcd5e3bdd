#pragma once
// BlockIndex is InfLLM's index of the blocks of old tokens in one layer (Xiao et al. 2024,
// arXiv:2402.04617, section 3.2). For each block and query head, it holds a few vectors that
// represent the keys of the block. A search finds the blocks whose vectors have the largest dot
// products with a query. On the host, a search first scores all blocks with a 4-bit copy of the
// vectors, and then scores the best of them with the exact vectors. This reads a quarter of the
// bytes and finds the same blocks as a search of the exact vectors.

#include <cstddef>
#include <cstdint>

#include "ops/blocks/key_vectors.h"
#include "ops/choose/select_rows.h"
#include "ops/matmul/matvec.h"

namespace longhaul {

/// Buffers of a search, which are reused between calls.
struct BlockSearch {
  Array<float> scores;  ///< score of each block
  /// Dot products of vectors and queries, for the heads that are processed together.
  Array<float> dots;
  Array<std::byte> candidates;  ///< exact vectors of the blocks with the best 4-bit scores
  Array<int32_t> blocks;        ///< result: block numbers
  RowSelection first, best;
  ActivationRows query;
};

/// The vectors of all blocks, [blocks, heads, count, head_dim] in `type`.
struct BlockVectors {
  View<const uint8_t> vectors;
  DType type = DType::BF16;
  int64_t heads = 0, count = 0, head_dim = 0;

  bool lies_on(Place place) const { return vectors.place() == place; }
};

/// Writes the score of every block (BlockIndex::top()) to `scores` [blocks].
inline const DeviceOperation<bool(const BlockVectors&, View<const float> query, View<float> scores)>
    kBlockScores;

class BlockIndex {
 public:
  BlockIndex(int64_t heads, int64_t vectors, int64_t head_dim);

  /// Adds blocks with the vectors `added` [blocks, heads, vectors, head_dim], stored as `type`
  /// (KeyVectors). All calls must pass the same type.
  void append(Queue& queue, View<const float> added, DType type);
  int64_t blocks() const { return vectors_.elements() / width(); }
  /// Returns whether blocks with vectors of this type may be added.
  bool takes(DType type) const { return vectors_.takes(type); }

  /// Returns the numbers of the k blocks with the highest scores, in ascending order, or of all
  /// blocks if there are fewer. The score of a block is a sum over query heads. Each head
  /// contributes the largest dot product of its query and one of its vectors of the block. If
  /// scores are equal, the lower block number is preferred. `query` is [heads, head_dim]. The
  /// result is stored in `memory`.
  RowList top(Queue& queue, View<const float> query, int64_t k, BlockSearch& memory);
  BlockVectors vectors() const {
    return {vectors_.stored(), vectors_.type(), heads_, count_, head_dim_};
  }

  size_t bytes() const { return vectors_.bytes() + copy_.bytes(); }
  /// Returns the size in bytes of an index with `blocks` blocks.
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
  /// A copy of vectors_ in Q4_0. Keys have a large part in common, which would use most of the
  /// 4-bit range. Before rounding, the vector of the same head in common_ is therefore subtracted
  /// from each vector. This changes the scores of all blocks by the same amount.
  KeyVectors copy_;
  /// Vectors of the first block. Only the first vector of each head is subtracted.
  std::vector<float> common_;
};

}  // namespace longhaul
