#pragma once
// The attention maps of some blocks of a text while a dense session reads it: what ltri divides
// into spans (ops/blocks/span_division.h), the probabilities of a block's own pairs summed over the
// heads.

#include <cstdint>
#include <vector>

#include "attention/step.h"
#include "ops/blocks/span_division.h"

namespace longhaul {

class BlockMaps {
 public:
  /// Blocks of `block` tokens, each from one of `firsts` on. `shape` must outlive this.
  BlockMaps(const ModelShape& shape, int block, std::vector<int64_t> firsts);

  /// For Session::observe of a dense session on the host, while it reads the prompt.
  void observe(LayerStep step);

  size_t blocks() const { return firsts_.size(); }
  int64_t first(size_t block) const { return firsts_[block]; }
  /// Zeros in layers with a sliding window of the model's own, where nothing is looked up.
  BlockMap of(int layer, size_t block) const;

 private:
  std::span<float> map(int layer, size_t block);
  void look(LayerStep& step, int64_t from, int64_t to, int64_t first, std::span<float> map);

  const ModelShape& shape_;
  int block_;
  std::vector<int64_t> firsts_;
  std::vector<float> maps_;  ///< [layers, blocks, block, block]
  Array<float> out_, lse_;
};

}  // namespace longhaul
