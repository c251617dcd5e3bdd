#include "ops/choose/tile_lists.h"

#include <algorithm>

#include "base/on_device.h"
#include "base/parallel.h"

namespace longhaul {
namespace {

/// A diagonal at distance o makes `tile` keys visible to the tile whose rows end before position
/// `tile_end`: the range that ends at tile_end - o, cut off at key 0.
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

/// Tiles, or their parts within rows [first, end), of all attended heads.
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

/// Two tiles of 64 rows share a list of pages.
constexpr int kMaskedRows = 64;

/// The rows of the KV head that a query head reads.
const PagedRows& rows_of_head(std::span<const TileRule> rules, std::span<const PagedRows> lists,
                              size_t head) {
  return lists[head / (rules.size() / lists.size())];
}

/// Whether all heads with lines can use masks. If not, rows of other heads may have another format.
bool lists_pages(Queue& queue, const TileGrid& grid, std::span<const TileRule> rules,
                 std::span<const PagedRows> lists) {
  if (grid.tile != kMaskedRows) return false;
  for (size_t head = 0; head < rules.size(); ++head) {
    const bool lines = rules[head].kind == TileRule::Kind::kLines;
    if (lines && !on_device(kReadsMasks, queue, rows_of_head(rules, lists, head))) return false;
  }
  return true;
}

/// The tasks on a device. Segments have room for all keys that may be listed, and only the device
/// knows the actual number.
class DeviceLists {
 public:
  DeviceLists(Queue& queue, const TileGrid& grid, std::span<const TileRule> rules,
              std::span<const PagedRows> lists, TileLists& memory)
      : queue_(queue), grid_(grid), rules_(rules), lists_(lists), m_(memory) {}

  bool run() {
    const int page_rows = lists_.front().page_rows;
    if (grid_.tile % page_rows != 0) return false;
    by_pages_ = lists_pages(queue_, grid_, rules_, lists_);
    copy_columns();
    reserve(page_rows);
    for (size_t i = 0; i < m_.tiles.size(); i += together(i)) {
      const RowTile& tile = m_.tiles[i];
      const size_t first = m_.segments.size();
      if (masked(tile)) {
        add_pages(i);
      } else {
        add(tile, page_rows);
      }
      const int rows = tile.row_count + (together(i) == 2 ? m_.tiles[i + 1].row_count : 0);
      m_.tasks.push_back({tile.head, 1, tile.row_begin, rows, tile.position,
                          std::span<const KeySegment>(m_.segments).subspan(first)});
    }
    return on_device(kListTileKeys, queue_, grid_.tile, page_rows, m_.device_tiles) &&
           (m_.device_pages.empty() || on_device(kListTilePages, queue_, m_.device_pages));
  }

 private:
  const TileRule& rule_of(const RowTile& tile) const {
    return rules_[static_cast<size_t>(tile.head)];
  }
  const PagedRows& rows_of(const RowTile& tile) const {
    return rows_of_head(rules_, lists_, static_cast<size_t>(tile.head));
  }
  bool masked(const RowTile& tile) const {
    const TileRule& rule = rule_of(tile);
    return by_pages_ && rule.kind == TileRule::Kind::kLines &&
           !rule.lines->runs.view().place().host();
  }
  /// Number of tiles, from index i on, in one task.
  size_t together(size_t i) const {
    const RowTile& tile = m_.tiles[i];
    return masked(tile) && tile.row_count == kMaskedRows && i + 1 < m_.tiles.size() &&
                   m_.tiles[i + 1].head == tile.head
               ? 2
               : 1;
  }
  int64_t room_for(size_t i, int page_rows) const {
    const RowTile& tile = m_.tiles[i];
    if (rule_of(tile).kind == TileRule::Kind::kAShape) return 0;
    const int64_t tiles = tile.position / grid_.tile;
    if (masked(tile)) return tiles + static_cast<int64_t>(together(i));
    if (rule_of(tile).kind == TileRule::Kind::kLines) return tile.position;
    return tiles * (grid_.tile / page_rows);
  }

  /// Copies columns for the heads with tiles listed by pages.
  void copy_columns() {
    m_.columns.assign(rules_.size(), {});
    for (const RowTile& tile : m_.tiles) {
      if (!masked(tile)) continue;
      CopiedColumns& of = m_.columns[static_cast<size_t>(tile.head)];
      of.from = of.to = rows_of(tile);
      of.columns = rule_of(tile).lines->columns.rows;
    }
    copied_ = by_pages_ && on_device(kCopyColumns, queue_, m_.columns);
  }
  int64_t copied_pages(const RowTile& tile) const {
    const int64_t columns = m_.columns[static_cast<size_t>(tile.head)].columns.size();
    return copied_ ? (columns + kMaskedRows - 1) / kMaskedRows : 0;
  }

  void reserve(int page_rows) {
    int64_t room = 0, pages = 0;
    for (size_t i = 0; i < m_.tiles.size(); i += together(i)) {
      const int64_t own = room_for(i, page_rows) + copied_pages(m_.tiles[i]);
      room += own;
      if (masked(m_.tiles[i])) pages += own;
    }
    const int64_t tiles = std::ssize(m_.tiles);
    listed_ = m_.listed.resize(queue_, room);
    masks_ = m_.masks.resize(queue_, 2 * pages);
    counts_ = m_.counts.resize(queue_, 2 * tiles);
    pairs_ = m_.pairs.resize(queue_, tiles);
    m_.device_tiles.clear();
    m_.device_pages.clear();
    m_.segments.clear();
    m_.segments.reserve(static_cast<size_t>(2 * tiles));  // tasks point into it
    m_.tasks.clear();
  }

  template <class T>
  static View<T> take(View<T>& from, int64_t count) {
    const View<T> taken = from.part(0, count);
    from = from.from(count);
    return taken;
  }

  MaskedPages take_pages(int64_t room) {
    return {take(listed_, room), take(masks_, 2 * room), take(counts_, 1)};
  }
  /// The first list of a task holds the number of pairs of all of them.
  void add_segment(const PagedRows& rows, const MaskedPages& list, View<int64_t> pairs) {
    KeySegment keys;
    keys.rows = rows;
    keys.index = list.pages;
    keys.whole_pages = true;
    keys.masks = {list.masks, pairs};
    keys.count = list.pages.size() * kMaskedRows;
    keys.device_count = list.keys;
    m_.segments.push_back(keys);
  }

  /// Adds tile i, or tiles i and i + 1.
  void add_pages(size_t i) {
    const RowTile& tile = m_.tiles[i];
    TilePages there{.lines = rule_of(tile).lines, .position = tile.position};
    for (size_t t = 0; t < together(i); ++t) there.rows[t] = m_.tiles[i + t].row_count;
    there.text = take_pages(room_for(i, kMaskedRows));
    there.pairs = take(pairs_, 1);
    add_segment(rows_of(tile), there.text, there.pairs);
    m_.segments.back().indexed_positions = true;
    if (copied_pages(tile) > 0) {
      there.copies = take_pages(copied_pages(tile));
      add_segment(m_.columns[static_cast<size_t>(tile.head)].to, there.copies, {});
      m_.segments.back().visible = Visibility::kAll;
    }
    m_.device_pages.push_back(there);
  }

  void add(const RowTile& tile, int page_rows) {
    const TileRule& rule = rule_of(tile);
    const PagedRows& rows = rows_of(tile);
    if (rule.kind == TileRule::Kind::kAShape) {
      return add_a_shape(tile, rule.sink, rule.window, rows, m_.segments);
    }
    const bool lines = rule.kind == TileRule::Kind::kLines;
    const int64_t at = tile.position / grid_.tile;
    const int64_t room = lines ? tile.position : at * (grid_.tile / page_rows);
    const View<int32_t> listed = take(listed_, room), counts = take(counts_, 2);

    KeySegment before, own;
    before.rows = own.rows = rows;
    before.index = listed;
    before.whole_pages = !lines;
    before.count = room * (lines ? 1 : page_rows);
    before.device_count = counts.part(0, 1);
    before.visible = Visibility::kAll;
    // The keys of a partial tile's missing rows are not listed, because pages are listed whole.
    own.begin = own.position = lines ? tile.position : at * grid_.tile;
    own.count = tile.position + tile.row_count - own.begin;
    own.device_count = counts.part(1, 1);
    if (room > 0) m_.segments.push_back(before);
    m_.segments.push_back(own);

    DeviceTile there{&rule, {}, at, tile.position, static_cast<int>(own.count)};
    if (!lines) there.blocks = rule.blocks.part((at - grid_.first_tile()) * grid_.blocks(), at + 1);
    there.listed = listed;
    there.counts = counts;
    m_.device_tiles.push_back(there);
  }

  Queue& queue_;
  const TileGrid& grid_;
  std::span<const TileRule> rules_;
  std::span<const PagedRows> lists_;
  TileLists& m_;
  bool by_pages_ = false, copied_ = false;
  View<int32_t> listed_, counts_;  ///< remaining parts
  View<uint64_t> masks_;
  View<int64_t> pairs_;
};

}  // namespace

int64_t host_tiles_of_call(int64_t heads, int64_t keys) {
  constexpr int64_t kTilesAtOnce = 256;
  constexpr int64_t kKeysAtOnce = int64_t{4} << 20;  // capacity of the lists in total: 16 MiB
  const int64_t all = std::min(kTilesAtOnce, kKeysAtOnce / std::max<int64_t>(1, keys));
  return std::max<int64_t>(1, all / heads);
}

int64_t tiles_of_call(Queue& queue, const TileGrid& grid, std::span<const TileRule> rules,
                      std::span<const PagedRows> lists) {
  if (queue.on_host()) return host_tiles_of_call(std::ssize(rules), grid.keys());
  const auto lines = std::ranges::count(rules, TileRule::Kind::kLines, &TileRule::kind);
  // Two tiles share a list of pages. Each page takes one number and two masks, each as large as two
  // numbers.
  const int64_t numbers =
      lists_pages(queue, grid, rules, lists) ? grid.blocks() * 5 / 2 + 5 : grid.keys();
  return std::max<int64_t>(1, kListedOnDevice / std::max<int64_t>(1, lines * numbers));
}

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
