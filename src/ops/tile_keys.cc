#include "ops/tile_keys.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace longhaul {

void TileKeys::clear(int64_t position) {
  position_ = position;
  end_ = 0;
  own_ = false;
  before_.clear();
}

void TileKeys::add(int64_t begin, int64_t end) {
  if (end > position_) own_ = true;
  begin = std::max(begin, end_);
  end = std::min(end, position_);
  if (begin >= end) return;
  const size_t size = before_.size();
  before_.resize(size + static_cast<size_t>(end - begin));
  std::iota(before_.begin() + static_cast<int64_t>(size), before_.end(),
            static_cast<int32_t>(begin));
  end_ = end;
}

std::vector<AttendTask> tile_tasks(std::span<const RowTile> tiles, std::span<const TileKeys> keys,
                                   std::span<const PagedRows> lists, int group,
                                   std::vector<KeySegment>& segments) {
  LH_ASSERT(tiles.size() == keys.size() && group > 0);
  segments.clear();
  segments.reserve(2 * tiles.size());  // tasks point into it
  std::vector<AttendTask> tasks;
  tasks.reserve(tiles.size());
  for (size_t i = 0; i < tiles.size(); ++i) {
    const RowTile& tile = tiles[i];
    const size_t first = segments.size();
    KeySegment list;
    list.rows = lists[static_cast<size_t>(tile.head / group)];
    if (!keys[i].before().empty()) {
      list.index = keys[i].before().data();
      list.count = static_cast<int64_t>(keys[i].before().size());
      list.visible = Visibility::kAll;
      segments.push_back(list);
    }
    if (keys[i].own()) {
      KeySegment own;
      own.rows = list.rows;
      own.begin = own.position = tile.position;
      own.count = tile.row_count;
      segments.push_back(own);
    }
    AttendTask task;
    task.head_begin = tile.head;
    task.head_count = 1;
    task.row_begin = tile.row_begin;
    task.row_count = tile.row_count;
    task.row_position = tile.position;
    task.segments = std::span<const KeySegment>(segments).subspan(first);
    tasks.push_back(task);
  }
  return tasks;
}

}  // namespace longhaul
