#pragma once
// Computes diagonal tiles of the softmax map, summed over query heads. A diagonal tile is the
// attention of a block of tokens to itself (Ltri-LLM, arXiv:2412.04757, section 3.2).
//
//   map[r, j] += sum over heads h of exp(scale * q[r, h] . k[j] - lse[r, h])
//
// Only pairs in which row r sees key j are included. lse is the log of the softmax denominator.

#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

/// Largest number of keys of a tile.
inline constexpr int kMostTileKeys = 512;

/// A tile: rows [row_begin, row_begin + row_count) of the call and the keys of one segment per KV
/// head. The first row is at position row_position. Contiguous groups of query heads share a
/// segment. All segments have the same number of keys, at most kMostTileKeys.
struct MapTile {
  int row_begin = 0, row_count = 0;
  int64_t row_position = 0;
  std::span<const KeySegment> keys;
  View<float> map;  ///< [row_count, stride], where stride is at least the number of keys
  int64_t stride = 0;
};

/// Adds the attention of each tile to its map. Tiles are processed in parallel, and maps must not
/// overlap. Reads `call.lse_in` [rows, heads], which attend() wrote for these rows.
void tile_maps(const AttendCall& call, std::span<const MapTile> tiles);
inline const DeviceOperation<bool(const AttendCall&, std::span<const MapTile>)> kTileMaps;

}  // namespace longhaul
