#pragma once
// The keys that a tile of query rows of one head sees, and its attend() task.
// ops/choose/tile_lists.h uses them on the host.

#include <span>
#include <vector>

#include "ops/attention/attention.h"

namespace longhaul {

/// The keys visible to a tile of consecutive rows. They are a list of keys before the tile's first
/// row and, optionally, the tile's own rows, which see each other causally.
class TileKeys {
 public:
  /// Resets the list for a tile whose first row has position `position`.
  void clear(int64_t position);

  /// Adds keys [begin, end). Ranges must be added in the order of their ends. Keys that were
  /// already added are ignored. If the range contains a key at or after the tile's first row, the
  /// tile's own rows see each other.
  void add(int64_t begin, int64_t end);

  /// Replaces the list. Every row then sees the keys before `sink` and its last `window` keys,
  /// including its own.
  void set_a_shape(int64_t sink, int64_t window);

  std::span<const int32_t> before() const { return before_; }
  bool own() const { return own_; }
  int64_t sink() const { return sink_; }
  int64_t window() const { return window_; }  ///< returns 0 if the list is used

 private:
  int64_t position_ = 0, end_ = 0;
  int64_t sink_ = 0, window_ = 0;
  bool own_ = false;
  std::vector<int32_t> before_;
};

/// Rows [row_begin, row_begin + row_count) of query head `head`. The first row is at `position`.
struct RowTile {
  int head = 0;
  int row_begin = 0, row_count = 0;
  int64_t position = 0;
};

/// Adds two segments to `segments`. They make the keys before `sinks` and each row's last `window`
/// keys visible to the tile's rows.
void add_a_shape(const RowTile& tile, int64_t sinks, int64_t window, const PagedRows& rows,
                 std::vector<KeySegment>& segments);

/// Writes tasks in which tiles[i] sees keys[i] of lists[head / group]. Row i of a list is token i.
/// The segments refer to `keys`, which may be longer than `tiles`.
void tile_tasks(std::span<const RowTile> tiles, std::span<const TileKeys> keys,
                std::span<const PagedRows> lists, int group, std::vector<KeySegment>& segments,
                std::vector<AttendTask>& tasks);

}  // namespace longhaul
