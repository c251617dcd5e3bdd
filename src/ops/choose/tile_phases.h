#pragma once
// Chooses columns and diagonals (ops/choose/line_choice.h), and lists the keys that tiles of rows
// see in these lines or in selected blocks (ops/choose/tile_lists.h), in phases
// (ops/core/gpu/block.h).

#include "ops/choose/bit_phases.h"
#include "ops/choose/select_phases.h"

namespace longhaul::cuda {

/// Merges neighbouring diagonals into runs.
struct RunTask {
  const int32_t* distances;  ///< distances of the diagonals, in ascending order
  int32_t count;
  /// Two neighbouring diagonals belong to one run if their distances differ by at most this number.
  int32_t tile;
  /// [2 * count]: receives the far and the near end of each run. Runs with larger distances come
  /// first.
  int32_t* runs;
  int32_t* written;  ///< [1]: receives the number of runs
};

struct RunShared {
  ScanShared scan;
  uint32_t runs;
};

template <class Block>
LH_PHASES void merge_runs(const Block& block, RunShared& s, const RunTask& task) {
  block.each([&](int t) {
    if (t == 0) s.runs = 0;
  });
  const auto far_from_next = [&](int32_t i) {
    return i + 1 == task.count || task.distances[i + 1] - task.distances[i] > task.tile;
  };
  for (int32_t begin = 0; begin < task.count; begin += kBlockThreads) {
    const auto number = [&](int t) { return task.count - 1 - begin - t; };
    const auto starts = [&](int t) { return number(t) >= 0 && far_from_next(number(t)); };
    block.scan(s.scan, [&](int t) { return starts(t) ? 1u : 0u; });
    block.each([&](int t) {
      const int32_t i = number(t);
      if (i < 0) return;
      const uint32_t run = s.runs + s.scan.before[t] + (starts(t) ? 1 : 0) - 1;
      if (starts(t)) task.runs[2 * run] = task.distances[i];
      if (i == 0 || far_from_next(i - 1)) task.runs[2 * run + 1] = task.distances[i];
    });
    block.each([&](int t) {
      if (t == 0) s.runs += s.scan.all;
    });
  }
  block.each([&](int t) {
    if (t == 0) *task.written = static_cast<int32_t>(s.runs);
  });
}

/// The list of keys for the tile in block `own`, whose first row has position `position`.
struct TileTask {
  const int32_t* columns;  ///< selected columns, ascending; used if the tile sees columns and
                           ///< diagonals
  const int32_t* runs;
  const int32_t* run_count;  ///< [1] number of runs
  const uint8_t* blocks;     ///< [own + 1] flags of blocks; null if the tile sees columns and
                             ///< diagonals
  int64_t own, position;
  int32_t column_count;
  int32_t tile, pages;  ///< keys and pages per block
  /// Number of the tile's own keys, counted from the first key of its block, if the tile sees its
  /// own block.
  int32_t own_keys;
  int32_t* index;   ///< receives the numbers of visible rows or pages before the tile
  int32_t* counts;  ///< [2]: receives the number of listed keys, and the number of the tile's own
                    ///< keys
};

struct TileShared {
  BitShared bits;
  int32_t first_run;
};

/// The keys that a tile sees in columns and diagonals.
struct LineKeys {
  const TileTask& task;
  int64_t end;    ///< position after the tile
  int32_t first;  ///< first run to search; earlier runs have no keys at or before the tile's rows

  LH_BOTH explicit LineKeys(const TileTask& of, int32_t first_run = 0)
      : task(of), end((of.own + 1) * of.tile), first(first_run) {}

  LH_BOTH int64_t begin_of(int32_t run) const {
    const int64_t far = task.runs[2 * run] < end ? task.runs[2 * run] : end - 1;
    return end - far > task.tile ? end - far - task.tile : 0;
  }
  LH_BOTH int64_t end_of(int32_t run) const {
    const int64_t near = task.runs[2 * run + 1];
    return end - near > task.tile ? end - near : task.tile;
  }
  /// Returns the first run that has a key at or before some row of the tile.
  LH_BOTH int32_t find_first() const {
    int32_t low = 0, high = *task.run_count;
    while (low < high) {
      const int32_t middle = low + (high - low) / 2;
      if (task.runs[2 * middle + 1] < end) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  LH_BOTH int32_t run_behind(int64_t key) const {  // returns the first run whose keys end after
                                                   // `key`
    int32_t low = first, high = *task.run_count;
    while (low < high) {
      const int32_t middle = low + (high - low) / 2;
      if (end_of(middle) > key) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
  LH_BOTH int32_t column_from(int64_t key) const {
    int32_t low = 0, high = task.column_count;
    while (low < high) {
      const int32_t middle = low + (high - low) / 2;
      if (task.columns[middle] >= key) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /// Returns whether any run has a key in [begin, behind).
  LH_BOTH bool reaches(int64_t begin, int64_t behind) const {
    const int32_t run = run_behind(begin);
    return begin < behind && run < *task.run_count && begin_of(run) < behind;
  }

  /// Sets the bits of those keys before the tile that are in runs, in kEach words from word number
  /// `word` on.
  LH_BOTH void add_runs(int64_t word, uint32_t* to) const {
    const int64_t low = word * 32, high = end_of_words(word);
    if (low >= high) return;
    for (int32_t run = run_behind(low); run < *task.run_count && begin_of(run) < high; ++run) {
      const int64_t stop = end_of(run) < high ? end_of(run) : high;
      for (int w = 0; w < BitShared::kEach; ++w) {
        to[w] |= bits_between(low + 32 * w, begin_of(run), stop);
      }
    }
  }
  /// Sets the bits of those keys before the tile that are in columns, in kEach words from word
  /// number `word` on.
  LH_BOTH void add_columns(int64_t word, uint32_t* to) const {
    const int64_t low = word * 32, high = end_of_words(word);
    if (low >= high) return;
    for (int32_t c = column_from(low); c < task.column_count && task.columns[c] < high; ++c) {
      const int64_t key = task.columns[c];
      // The indices are constants, so that the words can stay in registers.
      for (int w = 0; w < BitShared::kEach; ++w) to[w] |= bits_between(low + 32 * w, key, key + 1);
    }
  }

  LH_BOTH void operator()(int64_t word, uint32_t* to) const {
    for (int w = 0; w < BitShared::kEach; ++w) to[w] = 0;
    add_runs(word, to);
    add_columns(word, to);
  }

 private:
  LH_BOTH int64_t end_of_words(int64_t word) const {
    const int64_t high = (word + BitShared::kEach) * 32;
    return high < task.position ? high : task.position;
  }
};

/// Writes the pages of the flagged blocks before the tile's own block. Each thread handles one
/// block at a time.
template <class Block>
LH_PHASES void list_flagged(const Block& block, BitShared& s, const TileTask& task) {
  block.each([&](int t) {
    if (t == 0) s.written = 0;
  });
  for (int64_t begin = 0; begin < task.own; begin += kBlockThreads) {
    const auto pages_of = [&](int t) {
      const bool seen = begin + t < task.own && task.blocks[begin + t] != 0;
      return seen ? static_cast<uint32_t>(task.pages) : 0u;
    };
    block.scan(s.scan, pages_of);
    block.each([&](int t) {
      int32_t* const to = task.index + s.written + s.scan.before[t];
      const auto first = static_cast<int32_t>((begin + t) * task.pages);
      const auto pages = static_cast<int32_t>(pages_of(t));
      for (int32_t page = 0; page < pages; ++page) to[page] = first + page;
    });
    block.each([&](int t) {
      if (t == 0) s.written += s.scan.all;
    });
  }
}

/// Writes the numbers of the visible rows or pages before the tile to task.index, in ascending
/// order, and the counts to task.counts.
template <class Block>
LH_PHASES void list_tile_keys(const Block& block, TileShared& s, const TileTask& task) {
  const bool lines = task.blocks == nullptr;
  if (lines) {
    block.each([&](int t) {
      if (t == 0) s.first_run = LineKeys(task).find_first();
    });
    list_bits(block, s.bits, (task.position + 31) / 32, LineKeys(task, s.first_run), task.index);
  } else {
    list_flagged(block, s.bits, task);
  }
  block.each([&](int t) {
    if (t != 0) return;
    const int32_t keys = lines ? 1 : task.tile / task.pages;  // keys per listed entry
    task.counts[0] = static_cast<int32_t>(s.bits.written) * keys;
    task.counts[1] = lines || task.blocks[task.own] != 0 ? task.own_keys : 0;
  });
}

}  // namespace longhaul::cuda
