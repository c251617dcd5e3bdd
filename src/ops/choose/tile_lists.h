#pragma once
// Expresses block-sparse attention as tasks of attend(). The query rows of each head are divided
// into tiles, each with its own list of visible keys. The cost is proportional to the lengths of
// these lists.

#include <span>
#include <vector>

#include "ops/choose/line_choice.h"
#include "ops/choose/tile_grid.h"
#include "ops/choose/tile_keys.h"

namespace longhaul {

/// The rule that determines which keys the tiles of a query head see. Keys after a row are never
/// visible.
struct TileRule {
  enum class Kind : uint8_t {
    kNothing,  ///< no keys, because the attention of the head is computed elsewhere
    kAShape,   ///< keys before `sink`, and the last `window` keys of each row, including its own
    kLines,    ///< keys in the columns and diagonals of `lines` (line_choice.h)
    kBlocks    ///< keys in the blocks that are marked in `blocks`
  } kind = Kind::kNothing;
  int64_t sink = 0, window = 0;
  const LineChoice* lines = nullptr;  ///< must have been chosen for the tile size of the grid
  View<const uint8_t> blocks;         ///< [grid.tiles(), grid.blocks()]; nonzero if the tile sees
                                      ///< the block
};

/// Largest number of row numbers in the lists of one device call. These numbers need 128 MiB, which
/// the memory forecast includes.
inline constexpr int64_t kListedOnDevice = int64_t{32} << 20;
/// Returns the largest number of tiles per query head in one call. On a device, the lists of the
/// call then have at most kListedOnDevice numbers. On the host, they then fit into the caches
/// (host_tiles_of_call()).
int64_t tiles_of_call(Queue& queue, const TileGrid& grid, std::span<const TileRule> rules,
                      std::span<const PagedRows> lists);
int64_t host_tiles_of_call(int64_t heads, int64_t keys);

/// A tile of rows for which the device writes the list of keys.
struct DeviceTile {
  const TileRule* rule = nullptr;  ///< its kind is kLines or kBlocks
  View<const uint8_t> blocks;      ///< for kBlocks: [own + 1] flags of the blocks up to the tile's
                                   ///< own
  int64_t own = 0;                 ///< number of the tile, counted from the context's first token
  int64_t position = 0;            ///< position of the first row
  int own_keys = 0;                ///< number of the tile's own keys, if they are visible
  /// Receives the numbers of visible rows (kLines) or pages (kBlocks) before the tile. It must have
  /// room for all of them.
  View<int32_t> listed;
  View<int32_t> counts;  ///< [2]: receives the number of listed keys, and the number of the tile's
                         ///< own keys

  bool lies_on(Place place) const {
    return rule->lines == nullptr || rule->lines->columns.rows.place() == place;
  }
};

/// The selected columns of a query head on the device, and contiguous copies of their keys and
/// values.
struct CopiedColumns {
  PagedRows from;
  View<const int32_t> columns;
  PagedRows to;  ///< output: describes the copies
};

/// Pages of 64 rows. For each page, two masks say which of its keys each of two tiles sees.
struct MaskedPages {
  View<int32_t> pages;   ///< pages with visible keys, ascending; has room for all pages
  View<uint64_t> masks;  ///< [pages][2 tiles]
  View<int32_t> keys;    ///< [1]: 64 times the number of listed pages
};

/// One or two consecutive tiles of 64 rows each. The device lists the pages in which they see keys
/// in the columns and diagonals of `lines` (line_choice.h).
struct TilePages {
  const LineChoice* lines = nullptr;
  int64_t position = 0;  ///< position of the first row
  int rows[2] = {0, 0};  ///< number of rows of each tile; if there are two tiles, the first has 64
  MaskedPages text;      ///< pages of the stored keys; has room for all pages up to that of the
                         ///< last row
  /// Pages of copied columns, with masks of the columns that are not in the pages of `text`. If
  /// `copies` is empty, `text` contains all columns.
  MaskedPages copies;
  View<int64_t> pairs;  ///< [1]: number of visible (row, key) pairs
};

/// Memory that tile_lists() reuses between calls.
struct TileLists {
  std::vector<TileKeys> keys;            ///< lists of the host
  Array<int32_t> listed, counts;         ///< lists of a device
  std::vector<DeviceTile> device_tiles;  ///< inputs of the operation that writes a device's lists
  Array<uint64_t> masks;                 ///< masks of pages on a device
  Array<int64_t> pairs;
  std::vector<CopiedColumns> columns;  ///< for each query head
  std::vector<TilePages> device_pages;
  std::vector<RowTile> tiles;
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
};

/// Returns attend() tasks for rows [first, end) of the grid. Each row sees the keys that the rule
/// of its query head specifies. `rules` has one rule per query head, and `lists` one list of stored
/// rows per KV head. Stored row i of a list is token i. The tasks and their segments are in
/// `memory`, and are valid until its next use.
std::span<const AttendTask> tile_lists(Queue& queue, const TileGrid& grid, int64_t first,
                                       int64_t end, std::span<const TileRule> rules,
                                       std::span<const PagedRows> lists, TileLists& memory);

inline const DeviceOperation<bool(int tile, int page_rows, std::span<const DeviceTile>)>
    kListTileKeys;
/// Returns whether attend() supports masks for pages of this format (KeySegment::masks). A device
/// that implements this operation also implements kCopyColumns and kListTilePages.
inline const DeviceOperation<bool(const PagedRows&)> kReadsMasks;
/// Copies the keys and values of columns to contiguous rows. The copies are valid until the next
/// call. Returns false if there is too little memory.
inline const DeviceOperation<bool(std::span<CopiedColumns>)> kCopyColumns;
inline const DeviceOperation<bool(std::span<const TilePages>)> kListTilePages;

}  // namespace longhaul
