#pragma once
// Expresses block-sparse attention as tasks of attend(). The query rows of a head are divided into
// tiles, each with its own list of keys. The cost is proportional to the lengths of the lists.

#include <span>
#include <vector>

#include "ops/choose/line_choice.h"
#include "ops/choose/tile_grid.h"
#include "ops/choose/tile_keys.h"

namespace longhaul {

/// The rule by which the tiles of a query head see keys. Keys after a row are never visible.
struct TileRule {
  enum class Kind : uint8_t {
    kNothing,  ///< the attention of the head is computed elsewhere
    kAShape,   ///< keys before `sink` and each row's last `window` keys, including its own
    kLines,    ///< the columns and diagonals of `lines`
    kBlocks    ///< the key blocks marked in `blocks`
  } kind = Kind::kNothing;
  int64_t sink = 0, window = 0;
  const LineChoice* lines = nullptr;  ///< must have been chosen for the tile size of the grid
  View<const uint8_t> blocks;         ///< [grid.tiles(), grid.blocks()]; nonzero: visible
};

/// Largest number of rows in the lists of one device call. These rows take 128 MiB, which the
/// memory forecast includes.
inline constexpr int64_t kListedOnDevice = int64_t{32} << 20;
/// Returns the largest number of tiles per query head in one call under that limit. On the host the
/// lists of a call stay in the caches (host_tiles_of_call()).
int64_t tiles_of_call(Queue& queue, const TileGrid& grid, std::span<const TileRule> rules,
                      std::span<const PagedRows> lists);
int64_t host_tiles_of_call(int64_t heads, int64_t keys);

/// A tile of rows. Its list of keys is written by the device.
struct DeviceTile {
  const TileRule* rule = nullptr;  ///< kLines or kBlocks
  View<const uint8_t> blocks;      ///< for kBlocks: [own + 1]
  int64_t own = 0;                 ///< number of the tile, counted from the context's first token
  int64_t position = 0;            ///< position of the first row
  int own_keys = 0;                ///< number of the tile's own keys, if they are visible
  /// Receives the listed rows (kLines) or pages (kBlocks), and has room for all of them before the
  /// tile.
  View<int32_t> listed;
  View<int32_t> counts;  ///< [2]: number of listed keys, and of the tile's own keys

  bool lies_on(Place place) const {
    return rule->lines == nullptr || rule->lines->columns.rows.place() == place;
  }
};

/// The columns of a query head on the device, and the destination of contiguous copies of their
/// keys and values.
struct CopiedColumns {
  PagedRows from;
  View<const int32_t> columns;
  PagedRows to;  ///< output: the copies of the columns
};

/// Pages of 64 rows, and masks of the rows that each of two tiles sees in them.
struct MaskedPages {
  View<int32_t> pages;   ///< pages with visible rows, ascending; has room for all pages
  View<uint64_t> masks;  ///< [pages][2]
  View<int32_t> keys;    ///< [1]: 64 times the number of listed pages
};

/// One or two consecutive tiles of 64 rows. The device lists the keys that they see by columns and
/// diagonals, as pages of 64 rows.
struct TilePages {
  const LineChoice* lines = nullptr;
  int64_t position = 0;  ///< position of the first row
  int rows[2] = {0, 0};  ///< rows of each tile; if there are two tiles, the first has all 64
  MaskedPages text;      ///< has room for all pages up to that of the last row
  /// Copied columns that are not in the pages of `text`; empty: `text` has all columns.
  MaskedPages copies;
  View<int64_t> pairs;  ///< [1]: number of visible (row, key) pairs
};

/// Buffers that are reused between calls.
struct TileLists {
  std::vector<TileKeys> keys;            ///< on the host
  Array<int32_t> listed, counts;         ///< the lists on a device
  std::vector<DeviceTile> device_tiles;  ///< inputs of the device's lists
  Array<uint64_t> masks;                 ///< masks of pages, on a device
  Array<int64_t> pairs;
  std::vector<CopiedColumns> columns;  ///< per query head
  std::vector<TilePages> device_pages;
  std::vector<RowTile> tiles;
  std::vector<KeySegment> segments;
  std::vector<AttendTask> tasks;
};

/// Returns tasks for rows [first, end) of the grid. The rows see the keys that the rules of their
/// heads specify. `rules` has one rule per query head. `lists` has one list per KV head, and row i
/// of a list is token i. The tasks are stored in `memory`.
std::span<const AttendTask> tile_lists(Queue& queue, const TileGrid& grid, int64_t first,
                                       int64_t end, std::span<const TileRule> rules,
                                       std::span<const PagedRows> lists, TileLists& memory);

inline const DeviceOperation<bool(int tile, int page_rows, std::span<const DeviceTile>)>
    kListTileKeys;
/// Returns whether attend() supports masks for pages of this format (KeySegment::masks). A device
/// that implements this operation also implements the next two.
inline const DeviceOperation<bool(const PagedRows&)> kReadsMasks;
/// Copies columns to contiguous rows. The copies are valid until the next call. Returns false if
/// there is not enough memory.
inline const DeviceOperation<bool(std::span<CopiedColumns>)> kCopyColumns;
inline const DeviceOperation<bool(std::span<const TilePages>)> kListTilePages;

}  // namespace longhaul
