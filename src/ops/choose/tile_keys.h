#pragma once
// The keys that a tile of query rows of one head sees, and the attend() tasks of such tiles. The
// host version of ops/choose/tile_lists.h uses them.

#include <span>
#include <vector>

#include "ops/attention/attention.h"

namespace longhaul {

/// The keys that are visible to a tile of consecutive rows: a list of keys before the tile's first
/// row and, optionally, the keys of the tile's own rows, of which each row sees those up to its
/// own.
class TileKeys {
 public:
  /// Empties the list and prepares it for a tile whose first row has position `position`.
  void clear(int64_t position);

  /// Adds keys [begin, end). Ranges must be added in the order of their ends. Keys that were
  /// already added are ignored. If the range contains a key at or after the tile's first row, the
  /// tile's own rows become visible.
  void add(int64_t begin, int64_t end);

  /// Replaces the list of keys by a rule: every row sees the keys before `sink` and its last
  /// `window` keys, including its own.
  void set_a_shape(int64_t sink, int64_t window);

  std::span<const int32_t> before() const { return before_; }
  bool own() const { return own_; }
  int64_t sink() const { return sink_; }
  int64_t window() const { return window_; }  ///< returns 0 unless set_a_shape() was called

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

/// Adds two segments to `segments`. They make the keys before `sinks`, and the last `window` keys
/// of each row, visible to the tile's rows.
void add_a_shape(const RowTile& tile, int64_t sinks, int64_t window, const PagedRows& rows,
                 std::vector<KeySegment>& segments);

/// Writes tasks of attend() in which tiles[i] sees keys[i]. The keys are read from lists[head /
/// group], whose stored row i is token i. `group` is the number of query heads per KV head. The
/// segments refer to `keys`, which may have more elements than `tiles`.
void tile_tasks(std::span<const RowTile> tiles, std::span<const TileKeys> keys,
                std::span<const PagedRows> lists, int group, std::vector<KeySegment>& segments,
                std::vector<AttendTask>& tasks);

}  // namespace longhaul
