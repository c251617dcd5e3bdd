#pragma once
// Mean keys of a context by blocks, per KV head.

#include "attention/step.h"
#include "ops/tile_grid.h"

namespace longhaul {

class KeyMeans {
 public:
  /// Of all keys up to the step's last, of the heads that attend.
  void average(LayerStep& step, const TileGrid& grid);
  /// [grid.blocks(), head_dim]; the last block may have fewer keys.
  View<const float> of(int kv_head) const { return means_.view().part(kv_head * each_, each_); }

 private:
  int64_t each_ = 0;
  Array<float> means_;
};

}  // namespace longhaul
