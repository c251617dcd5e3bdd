#pragma once
// Lists the pages with the keys that two tiles of 64 rows see in columns and diagonals
// (ops/choose/tile_lists.h), in phases (ops/core/gpu/block.h). The listed pages contain the keys
// that list_tile_keys() of tile_phases.h lists, and the tiles' own keys. If the tiles see only
// columns in a page, these columns are instead read from a copy in which all columns are
// contiguous. Reading a page for a single column would cost as much as 64 columns.

#include "ops/choose/tile_phases.h"

namespace longhaul::cuda {

/// Calls f(0) and f(1), for the two tiles. The arguments are constants, so that data per tile can
/// stay in registers.
template <class F>
LH_BOTH void for_both(F&& f) {
  f(0);
  f(1);
}

/// The listed pages. For each page, two masks say which of its keys each of the two tiles sees.
struct SeenPages {
  int32_t* pages;   ///< page numbers, in ascending order
  uint64_t* masks;  ///< [pages][2 tiles]
  int32_t* keys;    ///< [1]: 64 times the number of listed pages
};

struct PageTask {
  const int32_t* columns;  ///< selected columns (numbers of keys), in ascending order
  const int32_t* runs;
  const int32_t* run_count;  ///< [1] number of runs
  int64_t position;          ///< position of the first tile's first row
  int32_t column_count;
  int32_t rows[2];  ///< number of rows of each tile
  /// `text` receives the pages of the stored keys, and `copies` the pages of the copied columns. If
  /// copies.pages is null, all columns are read from the stored keys.
  SeenPages text, copies;
  int64_t* pairs;  ///< [1]: number of visible (row, key) pairs
};

struct PageShared {
  /// Number of pages that a thread processes at a time.
  static constexpr int kPages = BitShared::kEach * 32 / kPageRows;
  union {
    uint64_t masks[kBlockThreads][kPages][2];
    /// For each tile, one bit for each of the copied columns that the threads currently process.
    /// The bit is 1 if the tile sees the column.
    uint32_t columns[2][kBlockThreads / 32];
  };
  ScanShared scan;
  uint32_t written;
  uint32_t keys[2];  ///< for each tile: number of visible keys before the tile's own rows
  int32_t first_run[2];
};

/// The keys that the two tiles of a task see.
struct MaskedTiles {
  TileTask tiles[2];
  const int32_t* first_run;  ///< [2]

  LH_BOTH MaskedTiles(const PageTask& task, const int32_t* first_runs) : first_run(first_runs) {
    for_both([&](int g) {
      TileTask& tile = tiles[g] = {};
      tile.columns = task.columns;
      tile.runs = task.runs;
      tile.run_count = task.run_count;
      tile.column_count = task.column_count;
      tile.tile = kPageRows;
      tile.position = task.position + (g == 0 ? 0 : task.rows[0]);
      tile.own = tile.position / kPageRows;
      tile.own_keys = task.rows[g];
    });
  }
  LH_BOTH bool there(int g) const { return tiles[g].own_keys > 0; }
  LH_BOTH LineKeys lines(int g) const { return LineKeys(tiles[g], first_run[g]); }

  /// Returns whether one of the tiles sees keys of a run, or its own rows, in the page.
  LH_BOTH bool reaches(int64_t page) const {
    bool seen = false;
    for_both([&](int g) {
      const int64_t begin = page * kPageRows, end = begin + kPageRows;
      const int64_t before = tiles[g].position < end ? tiles[g].position : end;
      seen = seen || (there(g) && (page == tiles[g].own || lines(g).reaches(begin, before)));
    });
    return seen;
  }
};

/// Computes the masks of both tiles for the kPages pages of one thread. The bits of their keys
/// begin at word `word`. Also adds to `before` the number of keys that each tile sees before its
/// own rows.
LH_BOTH void find_masks(const PageTask& task, const MaskedTiles& pair, int64_t word,
                        uint64_t (&masks)[PageShared::kPages][2], uint32_t (&before)[2]) {
  constexpr int kEach = BitShared::kEach;
  uint32_t seen[2][kEach] = {}, own[2][kEach] = {}, columns[2][kEach] = {};
  for_both([&](int g) {
    if (!pair.there(g)) return;
    const TileTask& tile = pair.tiles[g];
    pair.lines(g).add_runs(word, seen[g]);
    pair.lines(g).add_columns(word, columns[g]);
    for (int w = 0; w < kEach; ++w) {
      own[g][w] = bits_between(32 * (word + w), tile.position, tile.position + tile.own_keys);
    }
  });
  for (int p = 0; p < PageShared::kPages; ++p) {
    const bool listed =
        task.copies.pages == nullptr ||
        (seen[0][2 * p] | seen[0][2 * p + 1] | seen[1][2 * p] | seen[1][2 * p + 1] | own[0][2 * p] |
         own[0][2 * p + 1] | own[1][2 * p] | own[1][2 * p + 1]) != 0;
    for_both([&](int g) {
      masks[p][g] = 0;
      for (int w = 2 * p; w < 2 * p + 2; ++w) {
        const uint32_t keys = seen[g][w] | (listed ? columns[g][w] : 0);
        before[g] += static_cast<uint32_t>(count_bits(keys));
        masks[p][g] |= static_cast<uint64_t>(keys | own[g][w]) << 32 * (w % 2);
      }
    });
  }
}

/// Lists the pages in which a tile sees a key. Page numbers begin at `first`, and each thread has
/// `each` pages. mask_of(t, p, g) returns the mask of tile g for page p of thread t.
template <class Block, class MaskOf>
LH_PHASES void list_pages(const Block& block, PageShared& s, int32_t first, int each,
                          MaskOf&& mask_of, const SeenPages& to) {
  const auto listed = [&](int t, int p) { return (mask_of(t, p, 0) | mask_of(t, p, 1)) != 0; };
  block.scan(s.scan, [&](int t) {
    uint32_t pages = 0;
    for (int p = 0; p < each; ++p) pages += listed(t, p) ? 1 : 0;
    return pages;
  });
  block.each([&](int t) {
    uint32_t at = s.written + s.scan.before[t];
    for (int p = 0; p < each; ++p) {
      if (!listed(t, p)) continue;
      to.pages[at] = first + t * each + p;
      for (int g = 0; g < 2; ++g) to.masks[2 * at + g] = mask_of(t, p, g);
      ++at;
    }
  });
  block.each([&](int t) {
    if (t == 0) s.written += s.scan.all;
  });
}

template <class Block>
LH_PHASES void end_list(const Block& block, PageShared& s, const SeenPages& list) {
  block.each([&](int t) {
    if (t == 0) *list.keys = static_cast<int32_t>(s.written) * kPageRows, s.written = 0;
  });
}

/// Lists the pages of copied columns, and masks of those columns that no page of `text` contains.
template <class Block>
LH_PHASES void list_copies(const Block& block, PageShared& s, const PageTask& task,
                           const MaskedTiles& pair) {
  constexpr int kStretchPages = kBlockThreads / kPageRows;
  for (int32_t begin = 0; begin < task.column_count; begin += kBlockThreads) {
    block.each([&](int t) {
      if (t < kBlockThreads / 32) s.columns[0][t] = s.columns[1][t] = 0;
    });
    block.each([&](int t) {
      if (begin + t >= task.column_count) return;
      const int64_t key = task.columns[begin + t];
      if (key >= task.position + task.rows[0] || pair.reaches(key / kPageRows)) return;
      for_both([&](int g) {
        if (!pair.there(g) || key >= pair.tiles[g].position) return;
        block.set_bits(s.columns[g][t / 32], 1u << t % 32);
        block.add(s.keys[g], 1);
      });
    });
    const auto mask_of = [&](int t, int, int g) {
      if (t >= kStretchPages) return uint64_t{0};
      return s.columns[g][2 * t] | static_cast<uint64_t>(s.columns[g][2 * t + 1]) << 32;
    };
    list_pages(block, s, begin / kPageRows, 1, mask_of, task.copies);
  }
  end_list(block, s, task.copies);
}

template <class Block>
LH_PHASES void list_tile_pages(const Block& block, PageShared& s, const PageTask& task) {
  const MaskedTiles pair(task, s.first_run);
  block.each([&](int t) {
    if (t == 0) s.written = 0;
    for_both([&](int g) {
      if (t != g) return;
      s.keys[g] = 0;
      s.first_run[g] = pair.there(g) ? LineKeys(pair.tiles[g]).find_first() : 0;
    });
  });
  const int64_t end = task.position + task.rows[0] + task.rows[1];
  for (int64_t begin = 0; begin < end; begin += 32 * BitShared::kStretch) {
    block.each([&](int t) {
      uint32_t before[2] = {0, 0};
      find_masks(task, pair, begin / 32 + t * BitShared::kEach, s.masks[t], before);
      for_both([&](int g) {
        if (before[g] > 0) block.add(s.keys[g], before[g]);
      });
    });
    list_pages(
        block, s, static_cast<int32_t>(begin / kPageRows), PageShared::kPages,
        [&](int t, int p, int g) { return s.masks[t][p][g]; }, task.text);
  }
  end_list(block, s, task.text);
  if (task.copies.pages != nullptr) list_copies(block, s, task, pair);
  block.each([&](int t) {
    if (t != 0) return;
    int64_t pairs = 0;
    for (int g = 0; g < 2; ++g) {
      const int64_t rows = task.rows[g];
      pairs += s.keys[g] * rows + rows * (rows + 1) / 2;
    }
    *task.pairs = pairs;
  });
}

}  // namespace longhaul::cuda
