#include "ops/context_map.h"

#include "ops/fill.h"
#include "ops/tile_map.h"

namespace longhaul {
namespace {

/// Adds the map of `count` of the rows, from `first` on, against `keys` tokens from `token` on.
void add_tile(const WindowRows& rows, int first, int count, int64_t token, int64_t keys,
              View<float> map, int64_t stride, std::vector<KeySegment>& segments) {
  const MapTile tile{first, count, rows.position + first, rows.tokens(token, keys, segments),
                     map,   stride};
  tile_maps(rows.call, {&tile, 1});
}

}  // namespace

/// The first token that is or will be in a block, and has not left the remainder.
int64_t ContextMap::first_token(int64_t tokens) const {
  return std::max(split_context(sizes_, tokens).remainder, sizes_.init);
}

int64_t ContextMap::tokens_of(int64_t tokens) const {
  return std::max<int64_t>(0, tokens - first_token(tokens));
}

void ContextMap::add(const WindowRows& rows) {
  LH_ASSERT(fits(rows.begin));
  const int64_t base = first_token(rows.begin), end = rows.begin + rows.rows;
  map_.append_zeros(*rows.call.queue, std::max<int64_t>(0, end - base) - map_.rows());
  for (int64_t t = std::max(rows.begin, base); t < end;) {
    const int64_t start = sizes_.init + (t - sizes_.init) / sizes_.block * sizes_.block;
    const int64_t stop = std::min(start + sizes_.block, end);
    add_tile(rows, static_cast<int>(t - rows.begin), static_cast<int>(stop - t), start,
             stop - start, map_.part(t - base, stop - t), sizes_.block, segments_);
    t = stop;
  }
}

View<const float> ContextMap::of(int64_t first, int64_t tokens) {
  return map_.part(first - first_token(tokens), sizes_.block);
}

void ContextMap::drop(Queue& queue, int64_t before, int64_t after) {
  map_.drop_first(queue, first_token(after) - first_token(before));
}

View<const float> map_of_rows(const WindowRows& rows, int first, int count, Array<float>& memory,
                              std::vector<KeySegment>& segments) {
  const View<float> map = memory.resize(*rows.call.queue, int64_t{count} * count);
  fill(*rows.call.queue, map, 0);
  add_tile(rows, first, count, rows.begin + first, count, map, count, segments);
  return map;
}

}  // namespace longhaul
