#include "attention/methods/ltri/context_map.h"

#include "ops/core/all_reduce.h"
#include "ops/core/fill.h"

namespace longhaul {
namespace {

/// Adds the map tile of query rows [first, first + count) and keys [token, token + keys) to
/// memory.tiles.
void add_tile(const WindowRows& rows, int first, int count, int64_t token, int64_t keys,
              View<float> map, int64_t stride, MapMemory& memory) {
  const size_t at = memory.tiles.size();
  if (memory.keys.size() == at) memory.keys.emplace_back();
  memory.tiles.push_back({first, count, rows.position + first,
                          rows.tokens(token, keys, memory.keys[at]), map, stride});
}

}  // namespace

/// Returns the first token of the remainder that will be part of a block.
int64_t ContextMap::first_token(int64_t tokens) const {
  return std::max(split_context(sizes_, tokens).remainder, sizes_.init);
}

int64_t ContextMap::tokens_of(int64_t tokens) const {
  return std::max<int64_t>(0, tokens - first_token(tokens));
}

void ContextMap::add(const WindowRows& rows, MapMemory& memory) {
  LH_ASSERT(fits(rows.begin));
  const int64_t base = first_token(rows.begin), end = rows.begin + rows.rows;
  map_.append_zeros(*rows.call.queue, std::max<int64_t>(0, end - base) - map_.rows());
  memory.tiles.clear();
  for (int64_t t = std::max(rows.begin, base); t < end;) {
    const int64_t start = sizes_.init + (t - sizes_.init) / sizes_.block * sizes_.block;
    const int64_t stop = std::min(start + sizes_.block, end);
    add_tile(rows, static_cast<int>(t - rows.begin), static_cast<int>(stop - t), start,
             stop - start, map_.part(t - base, stop - t), sizes_.block, memory);
    t = stop;
  }
  tile_maps(rows.call, memory.tiles);
  // Sums the map rows over all devices. The rows are new, so they hold only the attention of this
  // device's heads.
  const int64_t begin = std::max(rows.begin, base);
  if (begin < end) all_reduce(*rows.call.queue, map_.part(begin - base, end - begin));
}

View<const float> ContextMap::of(int64_t first, int64_t blocks, int64_t tokens) {
  return map_.part(first - first_token(tokens), blocks * sizes_.block);
}

void ContextMap::drop(int64_t before, int64_t after) {
  map_.drop_first(first_token(after) - first_token(before));
}

View<const float> maps_of_rows(const WindowRows& rows, int block, MapMemory& memory) {
  const View<float> map = memory.map.resize(*rows.call.queue, int64_t{rows.rows} * block);
  fill(*rows.call.queue, map, 0);
  memory.tiles.clear();
  for (int first = 0; first < rows.rows; first += block) {
    const int count = std::min(block, rows.rows - first);
    add_tile(rows, first, count, rows.begin + first, count,
             map.part(int64_t{first} * block, int64_t{count} * block), block, memory);
  }
  tile_maps(rows.call, memory.tiles);
  all_reduce(*rows.call.queue, map);
  return map;
}

}  // namespace longhaul
