#include "ops/tile_lists.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/device_ops.h"

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

/// Whole tiles, or what of them is among rows [first, end), of all heads that are attended.
void cut_tiles(const TileGrid& grid, int64_t first, int64_t end, std::span<const TileRule> rules,
               std::vector<RowTile>& tiles) {
  tiles.clear();
  for (size_t head = 0; head < rules.size(); ++head) {
    if (rules[head].kind == TileRule::Kind::kNothing) continue;
    for (int64_t row = first; row < end;) {
      const int64_t next = std::min(end, grid.row_end(grid.tile_of(row)));
      tiles.push_back({static_cast<int>(head), static_cast<int>(row), static_cast<int>(next - row),
                       grid.begin + row});
      row = next;
    }
  }
}

/// The tasks of a device: segments have room for all keys that may be listed, and the device alone
/// knows how many are.
class DeviceLists {
 public:
  DeviceLists(Queue& queue, const TileGrid& grid, std::span<const TileRule> rules,
              std::span<const PagedRows> lists, TileLists& memory)
      : queue_(queue), grid_(grid), rules_(rules), lists_(lists), m_(memory) {}

  bool run() {
    const int page_rows = lists_.front().page_rows;
    if (grid_.tile % page_rows != 0) return false;
    reserve(page_rows);
    m_.segments.clear();
    m_.segments.reserve(2 * m_.tiles.size());  // tasks point into it
    m_.tasks.clear();
    for (const RowTile& tile : m_.tiles) {
      const size_t first = m_.segments.size();
      add(tile, page_rows);
      m_.tasks.push_back({tile.head, 1, tile.row_begin, tile.row_count, tile.position,
                          std::span<const KeySegment>(m_.segments).subspan(first)});
    }
    return queue_.device().ops().list_tile_keys(grid_.tile, page_rows, m_.device_tiles);
  }

 private:
  const TileRule& rule_of(const RowTile& tile) const {
    return rules_[static_cast<size_t>(tile.head)];
  }
  bool listed(const RowTile& tile) const { return rule_of(tile).kind != TileRule::Kind::kAShape; }
  int64_t room_for(const RowTile& tile, int page_rows) const {
    if (rule_of(tile).kind == TileRule::Kind::kLines) return tile.position;
    return tile.position / grid_.tile * (grid_.tile / page_rows);
  }

  void reserve(int page_rows) {
    int64_t room = 0, tiles = 0;
    for (const RowTile& tile : m_.tiles) {
      if (!listed(tile)) continue;
      room += room_for(tile, page_rows);
      tiles += 1;
    }
    listed_ = m_.listed.resize(queue_, room);
    counts_ = m_.counts.resize(queue_, 2 * tiles);
    m_.device_tiles.clear();
  }

  void add(const RowTile& tile, int page_rows) {
    const TileRule& rule = rule_of(tile);
    const size_t group = rules_.size() / lists_.size();
    const PagedRows& rows = lists_[static_cast<size_t>(tile.head) / group];
    if (!listed(tile)) return add_a_shape(tile, rule.sink, rule.window, rows, m_.segments);
    const bool lines = rule.kind == TileRule::Kind::kLines;
    const int64_t room = room_for(tile, page_rows), at = tile.position / grid_.tile;
    const View<int32_t> counts = counts_.part(2 * std::ssize(m_.device_tiles), 2);

    KeySegment before, own;
    before.rows = own.rows = rows;
    before.index = listed_.part(0, room);
    before.whole_pages = !lines;
    before.count = room * (lines ? 1 : page_rows);
    before.live = counts.part(0, 1);
    before.visible = Visibility::kAll;
    // Of a tile that is cut the keys of its other rows are not listed: pages are listed whole.
    own.begin = own.position = lines ? tile.position : at * grid_.tile;
    own.count = tile.position + tile.row_count - own.begin;
    own.live = counts.part(1, 1);
    if (room > 0) m_.segments.push_back(before);
    m_.segments.push_back(own);

    DeviceTile there{&rule, {}, at, tile.position, static_cast<int>(own.count)};
    if (!lines) there.blocks = rule.blocks.part((at - grid_.first_tile()) * grid_.blocks(), at + 1);
    there.listed = listed_.part(0, room);
    there.counts = counts;
    listed_ = listed_.from(room);
    m_.device_tiles.push_back(there);
  }

  Queue& queue_;
  const TileGrid& grid_;
  std::span<const TileRule> rules_;
  std::span<const PagedRows> lists_;
  TileLists& m_;
  View<int32_t> listed_, counts_;  ///< what is left of the one, all of the other
};

}  // namespace

std::span<const AttendTask> tile_lists(Queue& queue, const TileGrid& grid, int64_t first,
                                       int64_t end, std::span<const TileRule> rules,
                                       std::span<const PagedRows> lists, TileLists& memory) {
  LH_ASSERT(first >= 0 && first < end && end <= grid.rows);
  LH_ASSERT(!lists.empty() && rules.size() % lists.size() == 0);
  cut_tiles(grid, first, end, rules, memory.tiles);
  if (!queue.on_host()) {
    if (DeviceLists(queue, grid, rules, lists, memory).run()) return memory.tasks;
    HostStage on(queue);
    std::vector<TileRule> here(rules.begin(), rules.end());
    for (TileRule& of : here) of.blocks = on(of.blocks);
    return tile_lists(host_queue(), grid, first, end, here, lists, memory);
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
