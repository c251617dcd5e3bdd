#include "ops/tile_lists.h"

#include <algorithm>

#include "base/parallel.h"

namespace longhaul {
namespace {

/// The tile whose rows end before position `tile_end` sees, of a diagonal at distance o, the
/// stretch of `tile` keys that ends at tile_end - o; the first ones where that would begin before
/// them.
void add_lines(const LineChoice& lines, int64_t tile_end, int tile, TileKeys& keys) {
  const std::span<const int32_t> columns = host_rows(lines.columns);
  const std::span<const int32_t> runs = host(lines.runs.view());
  const size_t count = static_cast<size_t>(host(lines.run_count.view())[0]);
  auto column = columns.begin();
  for (size_t run = 0; run < count; ++run) {
    const int64_t near = runs[2 * run + 1];
    if (near >= tile_end) continue;
    const int64_t far = std::min<int64_t>(runs[2 * run], tile_end - 1);
    const int64_t begin = std::max<int64_t>(tile_end - far, tile) - tile;
    for (; column != columns.end() && *column < begin; ++column) keys.add(*column, *column + 1);
    keys.add(begin, std::max<int64_t>(tile_end - near, tile));
  }
}

void add_blocks(const TileRule& rule, const TileGrid& grid, int64_t own, TileKeys& keys) {
  const auto seen = host(rule.blocks.part((own - grid.first_tile()) * grid.blocks(), own + 1));
  for (int64_t b = 0; b <= own; ++b) {
    if (seen[static_cast<size_t>(b)] != 0) keys.add(b * grid.tile, (b + 1) * grid.tile);
  }
}

void find_keys(const TileRule& rule, const TileGrid& grid, const RowTile& tile, TileKeys& keys) {
  const int64_t own = tile.position / grid.tile;
  keys.clear(tile.position);
  if (rule.kind == TileRule::Kind::kAShape) keys.set_a_shape(rule.sink, rule.window);
  if (rule.kind == TileRule::Kind::kLines) {
    add_lines(*rule.lines, (own + 1) * grid.tile, grid.tile, keys);
  }
  if (rule.kind == TileRule::Kind::kBlocks) add_blocks(rule, grid, own, keys);
}

}  // namespace

std::span<const AttendTask> tile_lists(Queue& queue, const TileGrid& grid, int64_t first,
                                       int64_t end, std::span<const TileRule> rules,
                                       std::span<const PagedRows> lists, TileLists& memory) {
  if (!queue.on_host()) {
    HostStage on(queue);
    std::vector<TileRule> here(rules.begin(), rules.end());
    for (TileRule& of : here) of.blocks = on(of.blocks);
    return tile_lists(host_queue(), grid, first, end, here, lists, memory);
  }
  LH_ASSERT(first >= 0 && first < end && end <= grid.rows);
  LH_ASSERT(!lists.empty() && rules.size() % lists.size() == 0);
  memory.tiles.clear();
  for (size_t head = 0; head < rules.size(); ++head) {
    if (rules[head].kind == TileRule::Kind::kNothing) continue;
    for (int64_t row = first; row < end;) {
      const int64_t next = std::min(end, grid.row_end(grid.tile_of(row)));
      memory.tiles.push_back({static_cast<int>(head), static_cast<int>(row),
                              static_cast<int>(next - row), grid.begin + row});
      row = next;
    }
  }
  if (memory.keys.size() < memory.tiles.size()) memory.keys.resize(memory.tiles.size());
  parallel_for(static_cast<int64_t>(memory.tiles.size()), [&](int64_t i, int) {
    const RowTile& tile = memory.tiles[static_cast<size_t>(i)];
    find_keys(rules[static_cast<size_t>(tile.head)], grid, tile,
              memory.keys[static_cast<size_t>(i)]);
  });
  tile_tasks(memory.tiles, memory.keys, lists, static_cast<int>(rules.size() / lists.size()),
             memory.segments, memory.tasks);
  return memory.tasks;
}

}  // namespace longhaul
