#pragma once
// Computes diagonal tiles of the attention map (softmax), summed over query heads. A diagonal tile
// is the attention of the tokens of a block to the tokens of the same block (Ltri-LLM,
// arXiv:2412.04757, section 3.2). For row r and key j:
//
//   map[r, j] += sum over heads h of exp(scale * q[r, h] . k[j] - lse[r, h])
//
// Only pairs in which row r sees key j are included. lse is the log of the softmax denominator over
// all keys that the row saw.

#include <span>

#include "ops/attention/attention.h"

namespace longhaul {

/// Largest supported number of keys in a tile.
inline constexpr int kMostTileKeys = 512;

/// A tile: query rows [row_begin, row_begin + row_count) of the call, and one segment of keys per
/// KV head. The first row is at position row_position. Contiguous groups of query heads share a KV
/// head. All segments have the same number of keys, at most kMostTileKeys.
struct MapTile {
  int row_begin = 0, row_count = 0;
  int64_t row_position = 0;
  std::span<const KeySegment> keys;
  View<float> map;  ///< output [row_count, stride]; stride is at least the number of keys
  int64_t stride = 0;
};

/// Adds the attention of each tile to its map. Maps must not overlap, because tiles are processed
/// in parallel. call.lse_in [rows, heads] must hold the lse that attend() wrote for these rows.
void tile_maps(const AttendCall& call, std::span<const MapTile> tiles);
inline const DeviceOperation<bool(const AttendCall&, std::span<const MapTile>)> kTileMaps;

}  // namespace longhaul
