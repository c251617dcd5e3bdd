#include "attention/methods/ltri/tile_map.h"

#include <algorithm>

#include "base/error.h"
#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/core/host_copies.h"
#include "ops/core/thread_scratch.h"
#include "ops/maps/column_kernels.h"

namespace longhaul {
namespace {

static_assert(kMostTileKeys <= kColumnKeys);

void check(const AttendCall& call, const MapTile& tile) {
  LH_ASSERT(!tile.keys.empty() && call.heads % static_cast<int>(tile.keys.size()) == 0);
  for (const KeySegment& keys : tile.keys) {
    check_segment(call, keys);
    LH_ASSERT(keys.count == tile.keys[0].count);
    LH_ASSERT(keys.count <= kMostTileKeys && keys.count <= tile.stride);
  }
  LH_ASSERT(tile.row_count == 0 ||
            tile.map.size() >= (tile.row_count - 1) * tile.stride + tile.keys[0].count);
}

}  // namespace

void tile_maps(const AttendCall& asked, std::span<const MapTile> tiles) {
  int64_t rows = 0;
  for (const MapTile& tile : tiles) {
    check(asked, tile);
    rows = std::max<int64_t>(rows, tile.row_begin + tile.row_count);
  }
  if (on_device(kTileMaps, *asked.queue, asked, tiles)) return;
  if (!asked.queue->on_host()) {
    HostCopies on(*asked.queue);
    std::vector<MapTile> here(tiles.begin(), tiles.end());
    for (MapTile& tile : here) {
      tile.keys = on(tile.keys);
      tile.map = on(tile.map);
    }
    return tile_maps(on(asked), here);
  }
  const HostCall call = host_call(asked, rows, {.lse_in = true});
  const ColumnKernels& kernels = kColumnKernels_for(current_isa());
  parallel_for(static_cast<int64_t>(tiles.size()), [&](int64_t i, int) {
    std::byte* const scratch = thread_scratch(kernels.scratch_bytes(call));
    const MapTile& tile = tiles[static_cast<size_t>(i)];
    const int group = call.heads / static_cast<int>(tile.keys.size());
    // Sequential, because all heads add to the same map.
    for (size_t k = 0; k < tile.keys.size(); ++k) {
      ColumnUnit unit{};
      unit.rows.call = &call;
      unit.rows.segments = &tile.keys[k];
      unit.rows.segment_count = 1;
      unit.rows.head_begin = static_cast<int>(k) * group;
      unit.rows.head_count = group;
      unit.rows.row_begin = tile.row_begin;
      unit.rows.row_count = tile.row_count;
      unit.rows.row_position = tile.row_position;
      unit.rows.key_count = tile.keys[k].count;
      unit.map = host(tile.map).data();
      unit.map_stride = tile.stride;
      kernels.run(unit, scratch);
    }
  });
}

}  // namespace longhaul
