#pragma once
// BlockMaps records the attention maps of some blocks of a text, during prefill with dense
// attention. A map contains the attention probabilities between the tokens of one block, summed
// over the query heads. ltri divides these maps into spans
// (attention/methods/ltri/span_division.h).

#include <cstdint>
#include <vector>

#include "attention/methods/ltri/span_division.h"
#include "attention/step.h"

namespace longhaul {

class BlockMaps {
 public:
  /// Records blocks of `block` tokens. `firsts` are the first tokens of the blocks. `shape` must
  /// outlive this object.
  BlockMaps(const ModelShape& shape, int block, std::vector<int64_t> firsts);

  /// Records the attention of a step. Pass it to Session::observe of a session with dense attention
  /// on the host. Call it only during prefill.
  void observe(LayerStep step);

  size_t blocks() const { return firsts_.size(); }
  int64_t first(size_t block) const { return firsts_[block]; }
  /// Returns the map of a block. It is zero in layers that have a sliding window in the model
  /// itself, where ltri looks up no blocks.
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
