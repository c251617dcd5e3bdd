#pragma once
// Block-sparse attention: tiles of query rows of one head that each see their own list of keys,
// as tasks of attend(). Cost follows the lists.

#include <span>
#include <vector>

#include "ops/choose/line_choice.h"
#include "ops/choose/tile_grid.h"
#include "ops/choose/tile_keys.h"

namespace longhaul {

/// Which keys the tiles of a query head see, of those that are not after a row.
struct TileRule {
  enum class Kind : uint8_t {
    kNothing,  ///< the head is not attended here
    kAShape,   ///< keys before `sink` and, for each row, the last `window`, itself among them
    kLines,    ///< the columns and diagonals of `lines`
    kBlocks    ///< the blocks of keys that `blocks` marks
  } kind = Kind::kNothing;
  int64_t sink = 0, window = 0;
  const LineChoice* lines = nullptr;  ///< chosen for the grid's tile
  View<const uint8_t> blocks;         ///< [grid.tiles(), grid.blocks()], other than 0: seen
};

/// Rows that the lists of one call should name on a device at most, 128 MiB of them: part of the
/// memory forecast.
inline constexpr int64_t kListedOnDevice = int64_t{32} << 20;
/// How many tiles of every head a call can have by that.
int64_t tiles_of_device_call(Queue& queue, const TileGrid& grid, std::span<const TileRule> rules,
                             std::span<const PagedRows> lists);

/// A tile of rows whose keys are found where the queue works.
struct DeviceTile {
  const TileRule* rule = nullptr;  ///< kLines or kBlocks
  View<const uint8_t> blocks;      ///< of kBlocks: [own + 1]
  int64_t own = 0;                 ///< the tile, counted from the context's first token
  int64_t position = 0;            ///< of the first row
  int own_keys = 0;                ///< of the tile itself, where they are seen
  View<int32_t> listed;  ///< kLines: room for all rows before the tile's; kBlocks: for all pages
                         ///< before the tile
  View<int32_t> counts;  ///< [2]: keys that are listed, keys of the tile itself
};

/// The columns of a query head where the queue works, and copies of their keys and values, one
/// behind the other.
struct CopiedColumns {
  PagedRows from;
  View<const int32_t> columns;
  PagedRows to;  ///< written
};

/// Pages of 64 rows and what each of two tiles sees of them.
struct MaskedPages {
  View<int32_t> pages;   ///< room for all, ascending: those of which a tile sees rows
  View<uint64_t> masks;  ///< [pages][2]
  View<int32_t> keys;    ///< [1]: 64 times as many as pages are listed
};

/// A tile of 64 rows, or two that follow each other, whose keys by lines are found where the queue
/// works, as pages of 64 rows.
struct TilePages {
  const LineChoice* lines = nullptr;
  int64_t position = 0;  ///< of the first row
  int rows[2] = {0, 0};  ///< of each tile; the first is whole where there are two
  MaskedPages text;      ///< with room for all pages up to the last row's
  MaskedPages copies;    ///< of copied columns: those that lie alone; empty: all are in `text`
  View<int64_t> pairs;   ///< [1]: of (row, key) that are seen
};

/// Memory of tile lists, reused from call to call.
struct TileLists {
  std::vector<TileKeys> keys;            ///< on the host
  Array<int32_t> listed, counts;         ///< on a device: the same ...
  std::vector<DeviceTile> device_tiles;  ///< ... by what they are found
  Array<uint64_t> masks;                 ///< of pages, on a device
  Array<int64_t> pairs;
  std::vector<CopiedColumns> columns;  ///< of every query head
  std::vector<TilePages> device_pages;
  std::vector<RowTile> tiles;
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
};

/// Tasks in which rows [first, end) of the grid see what the rules of their heads (one per query
/// head) say of `lists` (one per KV head; row i is token i). They live in `memory`.
std::span<const AttendTask> tile_lists(Queue& queue, const TileGrid& grid, int64_t first,
                                       int64_t end, std::span<const TileRule> rules,
                                       std::span<const PagedRows> lists, TileLists& memory);

}  // namespace longhaul
