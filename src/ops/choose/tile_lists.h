#pragma once
// Block-sparse attention as tasks of attend(): tiles of query rows of one head with their own lists
// of keys. Cost is proportional to the lists.

#include <span>
#include <vector>

#include "ops/choose/line_choice.h"
#include "ops/choose/tile_grid.h"
#include "ops/choose/tile_keys.h"

namespace longhaul {

/// Rule for the keys that the tiles of a query head see. Keys after a row are never visible.
struct TileRule {
  enum class Kind : uint8_t {
    kNothing,  ///< the head is not attended here
    kAShape,   ///< keys before `sink` and each row's last `window` keys, including its own
    kLines,    ///< the columns and diagonals of `lines`
    kBlocks    ///< the key blocks marked in `blocks`
  } kind = Kind::kNothing;
  int64_t sink = 0, window = 0;
  const LineChoice* lines = nullptr;  ///< chosen for the grid's tile size
  View<const uint8_t> blocks;         ///< [grid.tiles(), grid.blocks()]; nonzero: visible
};

/// Most rows in the lists of one device call, 128 MiB: part of the memory forecast.
inline constexpr int64_t kListedOnDevice = int64_t{32} << 20;
/// Largest number of tiles per head in one call under that limit.
int64_t tiles_of_device_call(Queue& queue, const TileGrid& grid, std::span<const TileRule> rules,
                             std::span<const PagedRows> lists);

/// A tile of rows whose keys are listed on the device.
struct DeviceTile {
  const TileRule* rule = nullptr;  ///< kLines or kBlocks
  View<const uint8_t> blocks;      ///< for kBlocks: [own + 1]
  int64_t own = 0;                 ///< number of the tile, counted from the context's first token
  int64_t position = 0;            ///< position of the first row
  int own_keys = 0;                ///< keys of the tile itself, if visible
  /// kLines: room for all rows before the tile's; kBlocks: for all pages before the tile
  View<int32_t> listed;
  View<int32_t> counts;  ///< [2]: number of listed keys, number of the tile's own keys

  bool lies_on(Place place) const {
    return rule->lines == nullptr || rule->lines->columns.rows.place() == place;
  }
};

/// The columns of a query head on the device, and contiguous copies of their keys and values.
struct CopiedColumns {
  PagedRows from;
  View<const int32_t> columns;
  PagedRows to;  ///< output
};

/// Pages of 64 rows and the rows of them visible to each of two tiles.
struct MaskedPages {
  View<int32_t> pages;   ///< capacity for all pages; lists the pages with visible rows, ascending
  View<uint64_t> masks;  ///< [pages][2]
  View<int32_t> keys;    ///< [1]: 64 times the number of listed pages
};

/// A tile of 64 rows, or two consecutive ones, whose keys (by lines) are listed on the device as
/// pages of 64 rows.
struct TilePages {
  const LineChoice* lines = nullptr;
  int64_t position = 0;  ///< position of the first row
  int rows[2] = {0, 0};  ///< rows of each tile; the first is whole if there are two
  MaskedPages text;      ///< capacity for all pages up to the last row's
  MaskedPages copies;    ///< copied columns outside the pages of `text`; empty: all are in `text`
  View<int64_t> pairs;   ///< [1]: number of visible (row, key) pairs
};

/// Memory of tile lists, reused from call to call.
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

/// Tasks in which rows [first, end) of the grid see the keys of `lists` (one per KV head; row i is
/// token i) given by their heads' rules (one per query head). The tasks live in `memory`.
std::span<const AttendTask> tile_lists(Queue& queue, const TileGrid& grid, int64_t first,
                                       int64_t end, std::span<const TileRule> rules,
                                       std::span<const PagedRows> lists, TileLists& memory);

inline const DeviceOperation<bool(int tile, int page_rows, std::span<const DeviceTile>)>
    kListTileKeys;
/// Returns whether attend() supports masks for these rows' pages (KeySegment::masks). A device that
/// has this operation has the next two as well.
inline const DeviceOperation<bool(const PagedRows&)> kReadsMasks;
/// Copies columns, valid until the next call (false: not enough room).
inline const DeviceOperation<bool(std::span<CopiedColumns>)> kCopyColumns;
inline const DeviceOperation<bool(std::span<const TilePages>)> kListTilePages;

}  // namespace longhaul
