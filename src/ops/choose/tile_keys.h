#pragma once
// The keys visible to a tile of query rows of one head, and its attend() task: the elements of
// ops/choose/tile_lists.h on the host.

#include <span>
#include <vector>

#include "ops/attention/attention.h"

namespace longhaul {

/// The keys visible to a tile of consecutive rows: a list of keys before its first row, and whether
/// the rows see each other causally.
class TileKeys {
 public:
  /// Starts a tile whose first row has position `position`.
  void clear(int64_t position);

  /// Adds keys [begin, end). Ranges must have ascending ends. Keys that were already added, or that
  /// follow the tile's first row, are ignored, but any key from the first row on adds the tile's
  /// own rows.
  void add(int64_t begin, int64_t end);

  /// Replaces the list: every row sees keys before `sink` and its last `window` keys, including its
  /// own.
  void set_a_shape(int64_t sink, int64_t window);

  std::span<const int32_t> before() const { return before_; }
  bool own() const { return own_; }
  int64_t sink() const { return sink_; }
  int64_t window() const { return window_; }  ///< 0: uses the list

 private:
  int64_t position_ = 0, end_ = 0;
  int64_t sink_ = 0, window_ = 0;
  bool own_ = false;
  std::vector<int32_t> before_;
};

/// Rows [row_begin, +row_count) of query head `head`, the first at `position`.
struct RowTile {
  int head = 0;
  int row_begin = 0, row_count = 0;
  int64_t position = 0;
};

/// Adds the two segments that make keys before `sinks` and the last `window` keys visible to a
/// tile's rows.
void add_a_shape(const RowTile& tile, int64_t sinks, int64_t window, const PagedRows& rows,
                 std::vector<KeySegment>& segments);

/// Makes tasks in which tiles[i] sees keys[i] of `lists[head / group]` (row i of a list is token
/// i). Segments point into `keys`, which may be longer than `tiles`.
void tile_tasks(std::span<const RowTile> tiles, std::span<const TileKeys> keys,
                std::span<const PagedRows> lists, int group, std::vector<KeySegment>& segments,
                std::vector<AttendTask>& tasks);

}  // namespace longhaul
