#pragma once
// Kernels of FlexPrefill's selection of key blocks, as phases between barriers
// (ops/core/gpu/block.h). attention/methods/flexprefill/flex_blocks.h explains the terms. First,
// one thread block per query head decides whether the head selects pairs, and selects columns and
// diagonals. Then, for heads that select pairs, one thread block per tile estimates the tile's
// attention from means. Finally, one thread block per such head selects pairs.

#include <cmath>

#include "ops/choose/mass_phases.h"

namespace longhaul::cuda {

/// Data that all heads share: the query rows of a TileGrid (ops/choose/tile_grid.h) and the members
/// of FlexRule.
struct FlexCall {
  const float* queries;  ///< [rows, heads, head_dim]
  int32_t heads, head_dim;
  int32_t tile;
  int64_t begin, rows;  ///< position of row 0; number of rows
  double mass, distance;
  int64_t least;
  float scale;
  int32_t last_rows;

  LH_BOTH int64_t keys() const { return begin + rows; }
  LH_BOTH int64_t first_tile() const { return begin / tile; }
  LH_BOTH int64_t blocks() const { return (keys() + tile - 1) / tile; }
  LH_BOTH int64_t tiles() const { return blocks() - first_tile(); }
};

struct FlexHeadTask {
  int32_t head;
  const float *columns, *diagonals;  ///< [keys]
  const float* means;                ///< [blocks, head_dim], aligned to 16 bytes
  uint8_t* seen;                     ///< [tiles, blocks]: the result
  float* bins;                       ///< [blocks] scratch
  float* map;       ///< [tiles, blocks] scratch: estimated attention of tiles to blocks
  int32_t* chosen;  ///< [tiles * blocks] scratch
  int32_t* pairs;   ///< [1]: nonzero if the head selects pairs
};

inline constexpr int kMostFlexDim = 256;  ///< largest supported head_dim

struct FlexShared {
  union {
    SelectShared select;
    MassShared mass;
    SumShared<1> sum;
    LargestShared largest;
  };
  float query[kMostFlexDim];
};

template <class Block>
class FlexPhases {
 public:
  LH_PHASES FlexPhases(const Block& block, FlexShared& shared, const FlexCall& call,
                       const FlexHeadTask& head)
      : block_(block), s_(shared), call_(call), head_(head) {}

  /// Decides whether the head selects pairs. Also selects columns and diagonals; only the minimum
  /// number of them if the head selects pairs.
  LH_PHASES void take_lines() const {
    const int64_t blocks = call_.blocks();
    block_.each([&](int t) {
      for (int64_t i = t; i < call_.tiles() * blocks; i += kBlockThreads) head_.seen[i] = 0;
    });
    attend_means(call_.rows - call_.last_rows, call_.rows, blocks, head_.map);
    all_reduce(head_.columns, false);
    const bool pairs = distance() < call_.distance;
    const int64_t least = call_.least > 1 ? call_.least : 1;
    const int64_t columns = pairs ? least : larger(least, budget(head_.columns));
    const int64_t count = select({head_.bins, blocks, 1, 0, columns, head_.chosen});
    mark(count, [&](int64_t tile, int64_t block) { return tile >= block ? block : -1; });
    all_reduce(head_.diagonals, true);
    const int64_t diagonals = pairs ? least : larger(least, budget(head_.diagonals));
    const int64_t nearest = select({head_.bins, blocks, 0, 1, diagonals, head_.chosen});
    mark(nearest, [&](int64_t tile, int64_t bin) { return tile - (blocks - 1 - bin); });
    block_.each([&](int t) {
      if (t == 0) *head_.pairs = pairs ? 1 : 0;
    });
  }

  /// Estimates the attention of tile `at` of the grid to the blocks up to its own, and writes zeros
  /// for later blocks.
  LH_PHASES void attend_tile(int64_t at) const {
    const int64_t blocks = call_.blocks(), tile = call_.first_tile() + at;
    const int64_t first = tile * call_.tile - call_.begin, end = first + call_.tile;
    float* const attention = head_.map + at * blocks;
    attend_means(first > 0 ? first : 0, end < call_.rows ? end : call_.rows, tile + 1, attention);
    block_.each([&](int t) {
      for (int64_t b = tile + 1 + t; b < blocks; b += kBlockThreads) attention[b] = 0;
    });
  }

  LH_PHASES void take_pairs() const {
    const int64_t blocks = call_.blocks(), tiles = call_.tiles(), numbers = tiles * blocks;
    const float* const map = head_.map;
    count_within_mass(block_, s_.mass, numbers, call_.mass * static_cast<double>(tiles),
                      [&](int64_t i) { return map[i]; });
    const int64_t taken = s_.mass.taken;
    // Barrier: all threads have read the shared result before it is overwritten.
    block_.each([](int) {});
    const int64_t count = select({map, numbers, 0, 0, taken, head_.chosen});
    block_.each([&](int t) {
      for (int64_t i = t; i < count; i += kBlockThreads) {
        const int64_t tile = call_.first_tile() + head_.chosen[i] / blocks;
        if (head_.chosen[i] % blocks <= tile) head_.seen[head_.chosen[i]] = 1;
      }
    });
  }

 private:
  LH_BOTH static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

  /// Divides `lines` (columns or diagonals) into bins of call_.tile lines. Writes the sum of each
  /// bin, divided by the number of last rows, to head_.bins. Columns are in the order of the keys.
  /// Diagonals begin with the largest distance.
  LH_PHASES void all_reduce(const float* lines, bool from_the_end) const {
    const int64_t keys = call_.keys();
    const auto rows = static_cast<float>(call_.last_rows);
    block_.each([&](int t) {
      for (int64_t b = t; b < call_.blocks(); b += kBlockThreads) {
        const int64_t first = b * call_.tile;
        const int64_t end = first + call_.tile < keys ? first + call_.tile : keys;
        float sum = 0;
        for (int64_t i = first; i < end; ++i) sum += lines[from_the_end ? keys - 1 - i : i] / rows;
        head_.bins[b] = sum;
      }
    });
  }

  /// Returns the Jensen-Shannon distance (the square root of the divergence) between the estimated
  /// attention of the last rows in head_.map and the true one in head_.bins.
  LH_PHASES double distance() const {
    block_.template sums<1>(s_.sum, [&](int t, double* sum) {
      for (int64_t b = t; b < call_.blocks(); b += kBlockThreads) {
        const auto p = static_cast<double>(head_.map[b]), q = static_cast<double>(head_.bins[b]);
        const double middle = (p + q) / 2;
        sum[0] += ((p > 0 ? p * log(p / middle) : 0) + (q > 0 ? q * log(q / middle) : 0)) / 2;
      }
    });
    const double sum = s_.sum.all[0];
    block_.each([](int) {});
    return sum > 0 ? sqrt(sum) : 0;
  }

  /// Counts lines (columns or diagonals), best first, until they hold the share call_.mass of the
  /// attention. Returns the number of blocks that this number of lines fills, plus one.
  LH_PHASES int64_t budget(const float* lines) const {
    const auto rows = static_cast<float>(call_.last_rows);
    count_within_mass(block_, s_.mass, call_.keys(), call_.mass,
                      [&](int64_t i) { return lines[i] / rows; });
    const int64_t taken = s_.mass.taken;
    block_.each([](int) {});
    return (1 + taken) / call_.tile + 1;
  }

  /// Writes the attention (softmax) of the mean query of rows [from, to) to the mean keys of the
  /// first `count` blocks.
  LH_PHASES void attend_means(int64_t from, int64_t to, int64_t count, float* attention) const {
    const int dim = call_.head_dim;
    block_.each([&](int t) {
      if (t >= dim) return;
      const float* q = call_.queries + int64_t{head_.head} * dim + t;
      const int64_t stride = int64_t{call_.heads} * dim;
      float sum = 0;
      for (int64_t r = from; r < to; ++r) sum += q[r * stride];
      s_.query[t] = sum / static_cast<float>(to - from);
    });
    block_.each([&](int t) {
      for (int64_t b = t; b < count; b += kBlockThreads) {
        const float* mean = head_.means + b * dim;
        float sum = 0;
        int i = 0;
        // The threads of a warp read different rows, so each load touches 32 cache lines. Loads of
        // 16 bytes reduce the number of loads to a quarter.
        for (; dim % 4 == 0 && i < dim; i += 4) {
          const Word4 four = *reinterpret_cast<const Word4*>(mean + i);
          for (int k = 0; k < 4; ++k) sum += s_.query[i + k] * float_of(four.w[k]);
        }
        for (; i < dim; ++i) sum += s_.query[i] * mean[i];
        attention[b] = call_.scale * sum;
      }
    });
    block_.largest(s_.largest, [&](int t) {
      float top = -INFINITY;
      for (int64_t b = t; b < count; b += kBlockThreads)
        top = attention[b] > top ? attention[b] : top;
      return top;
    });
    const float top = s_.largest.all;
    block_.each([](int) {});
    block_.template sums<1>(s_.sum, [&](int t, double* sum) {
      for (int64_t b = t; b < count; b += kBlockThreads) {
        attention[b] = expf(attention[b] - top);
        sum[0] += static_cast<double>(attention[b]);
      }
    });
    const auto sum = static_cast<float>(s_.sum.all[0]);
    block_.each([&](int t) {
      for (int64_t b = t; b < count; b += kBlockThreads) attention[b] /= sum;
    });
  }

  /// Runs select_rows() and returns the number of selected elements.
  LH_PHASES int64_t select(const SelectTask& task) const {
    select_rows(block_, s_.select, task);
    return task.rows < task.count ? task.rows : task.count;
  }

  /// For every tile and each of the first `count` elements of head_.chosen, marks block
  /// block_of(tile, element) as seen by the tile, unless it is negative.
  template <class BlockOf>
  LH_PHASES void mark(int64_t count, BlockOf&& block_of) const {
    const int64_t tiles = call_.tiles(), blocks = call_.blocks();
    block_.each([&](int t) {
      for (int64_t i = t; i < count * tiles; i += kBlockThreads) {
        const int64_t tile = i % tiles;
        const int64_t block = block_of(call_.first_tile() + tile, head_.chosen[i / tiles]);
        if (block >= 0) head_.seen[tile * blocks + block] = 1;
      }
    });
  }

  const Block& block_;
  FlexShared& s_;
  const FlexCall& call_;
  const FlexHeadTask& head_;
};

}  // namespace longhaul::cuda
