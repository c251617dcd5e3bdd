#include "calibrate/block_maps.h"

#include <algorithm>

#include "attention/methods/ltri/tile_map.h"
#include "base/error.h"

namespace longhaul {

BlockMaps::BlockMaps(const ModelShape& shape, int block, std::vector<int64_t> firsts)
    : shape_(shape), block_(block), firsts_(std::move(firsts)) {
  LH_ASSERT(block > 0 && block <= kMostTileKeys);
  maps_.assign(
      static_cast<size_t>(shape.layers) * firsts_.size() * static_cast<size_t>(block * block),
      0.0f);
}

std::span<float> BlockMaps::map(int layer, size_t block) {
  const auto size = static_cast<size_t>(block_ * block_);
  return std::span(maps_).subspan((static_cast<size_t>(layer) * firsts_.size() + block) * size,
                                  size);
}

BlockMap BlockMaps::of(int layer, size_t block) const {
  const auto size = static_cast<size_t>(block_ * block_);
  return {maps_.data() + (static_cast<size_t>(layer) * firsts_.size() + block) * size, block_,
          block_};
}

void BlockMaps::observe(LayerStep step) {
  if (step.own_window() > 0) return;
  for (size_t b = 0; b < firsts_.size(); ++b) {
    const int64_t from = std::max(firsts_[b], step.begin);
    const int64_t to = std::min(firsts_[b] + block_, step.begin + step.rows);
    if (from < to) look(step, from, to, firsts_[b], map(step.layer, b));
  }
}

/// Adds the attention of rows [from, to) to the tokens of the block that begins at `first`.
void BlockMaps::look(LayerStep& step, int64_t from, int64_t to, int64_t first,
                     std::span<float> map) {
  const int row = static_cast<int>(from - step.begin), count = static_cast<int>(to - from);
  std::vector<KeySegment> all, own;
  for (int list = 0; list < step.kv_heads; ++list) {
    all.push_back(step.all_keys(list));
    own.push_back(all.back());
    own.back().begin = own.back().position = first;
    own.back().count = to - first;
  }
  std::vector<AttendTask> tasks;
  for (int list = 0; list < step.kv_heads; ++list) {
    tasks.push_back({list * step.group(), step.group(), row, count, from,
                     std::span(all).subspan(static_cast<size_t>(list), 1)});
  }
  const View<const float> queries[] = {step.rotated_q()};
  AttendCall call = step.call(queries);
  if (!shape_.sinks.empty()) call.sinks = nth(shape_.sinks, step.layer);
  call.out = out_.resize(*step.queue, step.q.size());
  call.lse = lse_.resize(*step.queue, int64_t{step.rows} * shape_.heads);
  attend(call, tasks);
  call.lse_in = lse_.view();
  const auto at = static_cast<size_t>((from - first) * block_);
  const MapTile tile{row, count, from, own, View<float>(map.subspan(at)), block_};
  tile_maps(call, std::span(&tile, 1));
}

}  // namespace longhaul
