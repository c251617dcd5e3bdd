#pragma once
// Computes diagonal tiles of the softmax map, summed over the query heads. In a diagonal tile, a
// block of tokens attends to itself (Ltri-LLM, arXiv:2412.04757, 3.2).
//
//   map[r, j] += sum over heads h of exp(scale * q[r, h] . k[j] - lse[r, h])
//
// The sum covers the pairs in which row r sees key j.

#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

/// Most keys of a tile.
inline constexpr int kMostTileKeys = 512;

/// A tile: rows [row_begin, row_begin + row_count) of the call against the keys of one segment per
/// KV head. The first row is at position row_position. Query heads are assigned to the segments in
/// contiguous groups. All segments have the same number of keys, at most kMostTileKeys.
struct MapTile {
  int row_begin = 0, row_count = 0;
  int64_t row_position = 0;
  std::span<const KeySegment> keys;
  View<float> map;  ///< [row_count, stride], stride >= keys
  int64_t stride = 0;
};

/// Adds to the tiles' maps, in parallel. Reads `call.lse_in` [rows, heads], which attend() wrote
/// for these rows. Maps must not overlap.
void tile_maps(const AttendCall& call, std::span<const MapTile> tiles);
inline const DeviceOperation<bool(const AttendCall&, std::span<const MapTile>)> kTileMaps;

}  // namespace longhaul
