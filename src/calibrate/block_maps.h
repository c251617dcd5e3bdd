#pragma once
// The attention maps of some blocks of a text during the prefill of a dense session. ltri divides
// these maps into spans (ops/blocks/span_division.h). They are the probabilities of a block's own
// pairs, summed over the heads.

#include <cstdint>
#include <vector>

#include "attention/step.h"
#include "ops/blocks/span_division.h"

namespace longhaul {

class BlockMaps {
 public:
  /// Blocks of `block` tokens, each beginning at one of `firsts`. `shape` must outlive this object.
  BlockMaps(const ModelShape& shape, int block, std::vector<int64_t> firsts);

  /// For Session::observe of a dense session on the host, during prefill.
  void observe(LayerStep step);

  size_t blocks() const { return firsts_.size(); }
  int64_t first(size_t block) const { return firsts_[block]; }
  /// Zeros in layers with the model's own sliding window, which have no look-ups.
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
