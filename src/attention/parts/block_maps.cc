#include "attention/parts/block_maps.h"

#include "ops/fill.h"
#include "ops/tile_map.h"

namespace longhaul {

/// The first token that is or will be in a block, and has not left the remainder.
int64_t BlockMaps::first_token(int64_t tokens) const {
  return std::max(split_context(o_, tokens).remainder, o_.init);
}

int64_t BlockMaps::tokens_of(int64_t tokens) const {
  return std::max<int64_t>(0, tokens - first_token(tokens));
}

bool BlockMaps::fits(int layer, int64_t tokens) const {
  return maps_[static_cast<size_t>(layer)].numbers() == tokens_of(tokens) * o_.block;
}

/// Adds the map of `rows` rows of the step, from `first` on, against `keys` tokens from `token` on.
void BlockMaps::add_tile(const LayerStep& step, const ContextBlocks& blocks, int first, int rows,
                         int64_t token, int64_t keys, View<float> map, int64_t stride) {
  segments_.clear();
  for (int head = 0; head < step.kv_heads; ++head) {
    KeySegment& s = segments_.emplace_back(blocks.near_keys(step, head));
    s.begin = token;
    s.position = token - blocks.near_begin();
    s.count = keys;
  }
  const MapTile tile{first, rows, blocks.near_position() + first, segments_, map, stride};
  tile_maps(blocks.near_call(step), {&tile, 1});
}

void BlockMaps::add(const LayerStep& step, const ContextBlocks& blocks) {
  SlidingRows& map = at(step);
  const int64_t base = first_token(step.begin), end = step.begin + step.rows;
  LH_ASSERT(fits(step.layer, step.begin));
  map.append_zeros(*step.queue, std::max<int64_t>(0, end - base) - map.rows());
  for (int64_t t = std::max(step.begin, base); t < end;) {
    const int64_t start = o_.init + (t - o_.init) / o_.block * o_.block;
    const int64_t stop = std::min(start + o_.block, end);
    add_tile(step, blocks, static_cast<int>(t - step.begin), static_cast<int>(stop - t), start,
             stop - start, map.part(t - base, stop - t), o_.block);
    t = stop;
  }
}

View<const float> BlockMaps::of(const LayerStep& step, const AgedBlock& block) {
  return at(step).part(block.first - first_token(step.begin), o_.block);
}

void BlockMaps::drop(const LayerStep& step) {
  at(step).drop_first(*step.queue, first_token(step.begin + step.rows) - first_token(step.begin));
}

View<const float> BlockMaps::of_rows(const LayerStep& step, const ContextBlocks& blocks, int first,
                                     int rows) {
  const View<float> map = rows_.resize(*step.queue, int64_t{rows} * rows);
  fill(*step.queue, map, 0);
  add_tile(step, blocks, first, rows, step.begin + first, rows, map, rows);
  return map;
}

void BlockMaps::archive(Archive& archive) {
  for (SlidingRows& map : maps_) map.archive(archive);
}

}  // namespace longhaul
