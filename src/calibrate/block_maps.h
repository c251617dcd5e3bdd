#pragma once
// A block is a range of `block` tokens of a text. BlockMaps records an attention map of each layer
// for some blocks, during a prefill with dense attention. A map has the attention probabilities
// between the tokens of the block, summed over the query heads. From these maps, ltri determines
// how to divide blocks into spans (attention/methods/ltri/span_division.h).

#include <cstdint>
#include <vector>

#include "attention/methods/ltri/span_division.h"
#include "attention/step.h"

namespace longhaul {

class BlockMaps {
 public:
  /// `firsts` are the positions of the first tokens of the blocks. `shape` must outlive this
  /// object.
  BlockMaps(const ModelShape& shape, int block, std::vector<int64_t> firsts);

  /// Records the attention of one prefill step in one layer. Pass this function to Session::observe
  /// of a session with dense attention on the host.
  void observe(LayerStep step);

  size_t blocks() const { return firsts_.size(); }
  int64_t first(size_t block) const { return firsts_[block]; }
  /// Returns the map of a block in a layer. It is zero in layers to which the model itself gives a
  /// sliding window, because ltri looks up no blocks there.
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
