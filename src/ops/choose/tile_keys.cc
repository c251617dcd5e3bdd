#include "ops/choose/tile_keys.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace longhaul {

void TileKeys::clear(int64_t position) {
  position_ = position;
  end_ = sink_ = window_ = 0;
  own_ = false;
  before_.clear();
}

void TileKeys::set_a_shape(int64_t sink, int64_t window) {
  sink_ = sink;
  window_ = window;
}

void TileKeys::add(int64_t begin, int64_t end) {
  if (end > position_) own_ = true;
  begin = std::max(begin, end_);
  end = std::min(end, position_);
  if (begin >= end) return;
  const size_t size = before_.size(), needed = size + static_cast<size_t>(end - begin);
  if (needed > before_.capacity()) {  // never reserves more than the existing keys
    before_.reserve(std::min(2 * needed, static_cast<size_t>(position_)));
  }
  before_.resize(needed);
  std::iota(before_.begin() + static_cast<int64_t>(size), before_.end(),
            static_cast<int32_t>(begin));
  end_ = end;
}

namespace {

void add_list(const RowTile& tile, const TileKeys& keys, const PagedRows& rows,
              std::vector<KeySegment>& segments) {
  if (!keys.before().empty()) {
    KeySegment list;
    list.rows = rows;
    list.index = keys.before();
    list.count = static_cast<int64_t>(keys.before().size());
    list.visible = Visibility::kAll;
    segments.push_back(list);
  }
  if (keys.own()) {
    KeySegment own;
    own.rows = rows;
    own.begin = own.position = tile.position;
    own.count = tile.row_count;
    segments.push_back(own);
  }
}

}  // namespace

void add_a_shape(const RowTile& tile, int64_t sinks, int64_t window, const PagedRows& rows,
                 std::vector<KeySegment>& segments) {
  KeySegment sink, near;
  sink.rows = near.rows = rows;
  const int64_t end = tile.position + tile.row_count;
  sink.count = std::min(sinks, end);
  sink.visible = Visibility::kBeyond;  // a sink inside the window is counted there
  near.visible = Visibility::kWindow;
  sink.window = near.window = window;
  near.begin = near.position = std::max<int64_t>(0, tile.position - window + 1);
  near.count = end - near.begin;
  segments.insert(segments.end(), {sink, near});
}

void tile_tasks(std::span<const RowTile> tiles, std::span<const TileKeys> keys,
                std::span<const PagedRows> lists, int group, std::vector<KeySegment>& segments,
                std::vector<AttendTask>& tasks) {
  LH_ASSERT(tiles.size() <= keys.size() && group > 0);
  segments.clear();
  segments.reserve(2 * tiles.size());  // tasks point into it
  tasks.clear();
  for (size_t i = 0; i < tiles.size(); ++i) {
    const RowTile& tile = tiles[i];
    const size_t first = segments.size();
    const PagedRows& rows = lists[static_cast<size_t>(tile.head / group)];
    if (keys[i].window() > 0) {
      add_a_shape(tile, keys[i].sink(), keys[i].window(), rows, segments);
    } else {
      add_list(tile, keys[i], rows, segments);
    }
    tasks.push_back({tile.head, 1, tile.row_begin, tile.row_count, tile.position,
                     std::span<const KeySegment>(segments).subspan(first)});
  }
}

}  // namespace longhaul
