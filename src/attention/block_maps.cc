#include "attention/block_maps.h"

#include <algorithm>

#include "base/byte_stream.h"
#include "base/error.h"
#include "ops/tile_map.h"

namespace longhaul {

/// The first token that is or will be in a block, and has not left the remainder.
int64_t BlockMaps::first_token(int64_t tokens) const {
  return std::max(split_context(o_, tokens).remainder, o_.init);
}

int64_t BlockMaps::floats_of(int64_t tokens) const {
  return std::max<int64_t>(0, tokens - first_token(tokens)) * o_.block;
}

bool BlockMaps::fits(int layer, int64_t tokens) const {
  return std::ssize(maps_[static_cast<size_t>(layer)]) == floats_of(tokens);
}

/// Adds the map of `rows` rows of the step, from `first` on, against `keys` tokens from `token` on.
void BlockMaps::add_tile(const LayerStep& step, const ContextBlocks& blocks, int first, int rows,
                         int64_t token, int64_t keys, float* map, int64_t stride) {
  segments_.clear();
  for (int head = 0; head < step.kv_heads; ++head) {
    KeySegment& s = segments_.emplace_back(blocks.near_keys(step, head));
    s.begin = token;
    s.position = token - blocks.near_begin();
    s.count = keys;
  }
  const float* queries = blocks.near_q();
  const MapTile tile{first, rows, blocks.near_position() + first, segments_, map, stride};
  tile_maps(blocks.near_call(step, queries), {&tile, 1});
}

void BlockMaps::add(const LayerStep& step, const ContextBlocks& blocks) {
  std::vector<float>& map = at(step);
  const int64_t base = first_token(step.begin), end = step.begin + step.rows;
  LH_ASSERT(fits(step.layer, step.begin));
  map.resize(static_cast<size_t>(std::max<int64_t>(0, end - base) * o_.block));
  for (int64_t t = std::max(step.begin, base); t < end;) {
    const int64_t start = o_.init + (t - o_.init) / o_.block * o_.block;
    const int64_t stop = std::min(start + o_.block, end);
    add_tile(step, blocks, static_cast<int>(t - step.begin), static_cast<int>(stop - t), start,
             stop - start, map.data() + (t - base) * o_.block, o_.block);
    t = stop;
  }
}

BlockMap BlockMaps::of(const LayerStep& step, const AgedBlock& block) const {
  const std::vector<float>& map = maps_[static_cast<size_t>(step.layer)];
  const int n = static_cast<int>(o_.block);
  return {map.data() + (block.first - first_token(step.begin)) * n, n, n};
}

void BlockMaps::drop(const LayerStep& step) {
  const int64_t gone = first_token(step.begin + step.rows) - first_token(step.begin);
  std::vector<float>& map = at(step);
  map.erase(map.begin(), map.begin() + static_cast<std::ptrdiff_t>(gone * o_.block));
}

BlockMap BlockMaps::of_rows(const LayerStep& step, const ContextBlocks& blocks, int first,
                            int rows) {
  rows_.assign(static_cast<size_t>(rows) * static_cast<size_t>(rows), 0.0f);
  add_tile(step, blocks, first, rows, step.begin + first, rows, rows_.data(), rows);
  return {rows_.data(), rows, rows};
}

void BlockMaps::save(ByteWriter& out) const {
  for (const auto& map : maps_) out.array(std::span<const float>(map));
}

void BlockMaps::restore(ByteReader& in) {
  for (auto& map : maps_) map = in.array<float>();
}

}  // namespace longhaul
