#pragma once
// The pages that two tiles of 64 rows see some rows of by lines (ops/tile_lists.h), in phases
// (block.h): what list_tile_keys() of tile_phases.h says row by row, and the tiles' own rows.

#include "ops/cuda/tile_phases.h"

namespace longhaul::cuda {

struct PageTask {
  const int32_t* columns;  ///< ascending
  const int32_t* runs;
  const int32_t* run_count;  ///< [1]
  int64_t position;          ///< of the first tile's first row
  int32_t column_count;
  int32_t rows[2];  ///< of each tile
  int32_t* pages;   ///< ascending
  uint64_t* masks;  ///< [pages][2]
  int32_t* keys;    ///< [1]: 64 times as many as pages are listed
  int64_t* pairs;   ///< [1]: of (row, key)
};

struct PageShared {
  static constexpr int kPages = BitShared::kEach * 32 / kPageRows;  ///< of a thread and stretch
  uint64_t masks[kBlockThreads][kPages][2];
  ScanShared scan;
  uint32_t written;
  uint32_t keys[2];  ///< before the tiles' own
  int32_t first_run[2];
};

/// One of the two tiles, with its own rows.
LH_BOTH TileTask tile_of(const PageTask& task, int tile) {
  TileTask of{};
  of.columns = task.columns;
  of.runs = task.runs;
  of.run_count = task.run_count;
  of.column_count = task.column_count;
  of.tile = kPageRows;
  of.position = task.position + (tile == 0 ? 0 : task.rows[0]);
  of.own = of.position / kPageRows;
  of.own_keys = task.rows[tile];
  return of;
}

template <class Block>
LH_PHASES void list_tile_pages(const Block& block, PageShared& s, const PageTask& task) {
  constexpr int kEach = BitShared::kEach;
  const TileTask tiles[2] = {tile_of(task, 0), tile_of(task, 1)};
  block.each([&](int t) {
    if (t == 0) s.written = 0;
    if (t < 2) {
      s.keys[t] = 0;
      s.first_run[t] = task.rows[t] > 0 ? LineKeys(tiles[t]).find_first() : 0;
    }
  });
  const int64_t end = task.position + task.rows[0] + task.rows[1];
  for (int64_t begin = 0; begin < end; begin += 32 * BitShared::kStretch) {
    block.each([&](int t) {
      for (int g = 0; g < 2; ++g) {
        const TileTask& tile = tiles[g];
        const int64_t first = begin / 32 + t * kEach;
        uint32_t words[kEach] = {};
        uint32_t before = 0;
        if (tile.own_keys > 0) LineKeys(tile, s.first_run[g])(first, words);
        for (int w = 0; w < kEach; ++w) {
          before += static_cast<uint32_t>(count_bits(words[w]));
          words[w] |= bits_between(32 * (first + w), tile.position, tile.position + tile.own_keys);
        }
        for (int p = 0; p < PageShared::kPages; ++p) {
          s.masks[t][p][g] = words[2 * p] | static_cast<uint64_t>(words[2 * p + 1]) << 32;
        }
        if (before > 0) block.add(s.keys[g], before);
      }
    });
    const auto listed = [&](int t, int p) { return (s.masks[t][p][0] | s.masks[t][p][1]) != 0; };
    block.scan(s.scan, [&](int t) {
      uint32_t pages = 0;
      for (int p = 0; p < PageShared::kPages; ++p) pages += listed(t, p) ? 1 : 0;
      return pages;
    });
    block.each([&](int t) {
      uint32_t to = s.written + s.scan.before[t];
      for (int p = 0; p < PageShared::kPages; ++p) {
        if (!listed(t, p)) continue;
        task.pages[to] = static_cast<int32_t>(begin / kPageRows) + t * PageShared::kPages + p;
        for (int g = 0; g < 2; ++g) task.masks[2 * to + g] = s.masks[t][p][g];
        ++to;
      }
    });
    block.each([&](int t) {
      if (t == 0) s.written += s.scan.all;
    });
  }
  block.each([&](int t) {
    if (t != 0) return;
    *task.keys = static_cast<int32_t>(s.written) * kPageRows;
    int64_t pairs = 0;
    for (int g = 0; g < 2; ++g) {
      const int64_t rows = task.rows[g];
      pairs += s.keys[g] * rows + rows * (rows + 1) / 2;
    }
    *task.pairs = pairs;
  });
}

}  // namespace longhaul::cuda
