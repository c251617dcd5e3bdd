#include "attention/parts/key_means.h"

#include "ops/mean_keys.h"

namespace longhaul {

void KeyMeans::average(LayerStep& step, const TileGrid& grid) {
  each_ = grid.blocks() * step.shape->head_dim;
  const View<float> means = means_.resize(*step.queue, step.kv_heads * each_);
  for (int h = 0; h < step.kv_heads; ++h) {
    if (!step.attends(h)) continue;
    mean_keys(*step.queue, step.store->rows(step.layer, h), grid.keys(), grid.tile,
              means.part(h * each_, each_));
  }
}

}  // namespace longhaul
