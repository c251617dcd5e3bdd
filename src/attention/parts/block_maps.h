#pragma once
// The attention maps of blocks (Ltri-LLM, arXiv:2412.04757, 3.2): what every token paid the earlier
// tokens of its own block, kept row by row until the block leaves the remainder and is divided into
// spans.

#include <vector>

#include "attention/parts/context_blocks.h"

namespace longhaul {

class BlockMaps {
 public:
  BlockMaps(const BlockOptions& options, int layers)
      : o_(options), maps_(static_cast<size_t>(layers), SlidingRows(options.block)) {}

  /// Adds the rows of a layer of a step.
  void add(const LayerStep& step, const ContextBlocks& blocks);
  /// The map of a block that leaves the remainder with the step, [block, block]. Valid until
  /// drop().
  View<const float> of(const LayerStep& step, const AgedBlock& block);
  /// Forgets the rows of blocks that have left the remainder with the step.
  void drop(const LayerStep& step);

  /// The map of `rows` rows of the step, from `first` on, among themselves, [rows, rows]. Valid
  /// until the next.
  View<const float> of_rows(const LayerStep& step, const ContextBlocks& blocks, int first,
                            int rows);

  void archive(Archive& archive);
  /// Whether a layer's map is of a context of `tokens` tokens.
  bool fits(int layer, int64_t tokens) const;

 private:
  int64_t first_token(int64_t tokens) const;
  int64_t tokens_of(int64_t tokens) const;
  void add_tile(const LayerStep& step, const ContextBlocks& blocks, int first, int rows,
                int64_t token, int64_t keys, View<float> map, int64_t stride);
  SlidingRows& at(const LayerStep& step) { return maps_[static_cast<size_t>(step.layer)]; }

  BlockOptions o_;
  std::vector<SlidingRows> maps_;  ///< per layer: [tokens from first_token() on, block]
  Array<float> rows_;
  std::vector<KeySegment> segments_;
};

}  // namespace longhaul
