#pragma once
// The keys that a tile of query rows of one head sees, and its task of attend(): what
// ops/choose/tile_lists.h is made of on the host.

#include <span>
#include <vector>

#include "ops/attention/attention.h"

namespace longhaul {

/// The keys that a tile of consecutive rows sees: a list of those before its first row, and whether
/// the rows see each other, causally.
class TileKeys {
 public:
  /// Starts a tile whose first row stands at `position`.
  void clear(int64_t position);

  /// Adds keys [begin, end). Stretches come with ascending ends; what was added before or lies
  /// behind the tile's first row is cut off, but any key from there on adds the tile's own rows.
  void add(int64_t begin, int64_t end);

  /// Instead of a list: every row sees keys before `sink` and the last `window`, itself among them.
  void set_a_shape(int64_t sink, int64_t window);

  std::span<const int32_t> before() const { return before_; }
  bool own() const { return own_; }
  int64_t sink() const { return sink_; }
  int64_t window() const { return window_; }  ///< 0: by list

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

/// The two segments by which a tile's rows see keys before `sinks` and the last `window`.
void add_a_shape(const RowTile& tile, int64_t sinks, int64_t window, const PagedRows& rows,
                 std::vector<KeySegment>& segments);

/// Tasks of tiles[i] seeing keys[i] of `lists[head / group]` (row i of a list is token i). Segments
/// point into `keys`, which may be longer than `tiles`.
void tile_tasks(std::span<const RowTile> tiles, std::span<const TileKeys> keys,
                std::span<const PagedRows> lists, int group, std::vector<KeySegment>& segments,
                std::vector<AttendTask>& tasks);

}  // namespace longhaul
