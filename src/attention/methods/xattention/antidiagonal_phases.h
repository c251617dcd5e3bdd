#pragma once
// Selects the key blocks that a tile of query rows sees by XAttention's scores
// (attention/methods/xattention/antidiagonal_blocks.h), in one thread block. The code consists of
// phases between barriers (ops/core/gpu/block.h).

#include <cmath>

#include "ops/choose/mass_phases.h"

namespace longhaul::cuda {

/// The query heads that share one KV head. Groups are groups of S query rows.
struct AntidiagonalTask {
  const float* masses;   ///< [groups, head_count, blocks]: scores of single row groups
  const double* shares;  ///< [head_count]
  uint8_t* seen;         ///< [head_count, tiles, grid blocks]: the result
  float* scores;         ///< [head_count, tiles, grid blocks] scratch
  int32_t* chosen;       ///< [head_count, tiles, grid blocks] scratch
  int32_t head_count;
  int32_t per_block;  ///< number of groups per tile
  /// Range of groups in `masses`, numbered from the context's first token.
  int64_t first_group, end_group;
  int64_t blocks;  ///< number of blocks in `masses`
  /// The first tile of the grid, its number of tiles, and its number of blocks.
  int64_t first_tile, tiles, columns;

  LH_BOTH int64_t first() const { return first_group / per_block; }
  LH_BOTH int64_t count() const { return (end_group - 1) / per_block - first() + 1; }
};

struct AntidiagonalShared {
  union {
    SelectShared select;
    MassShared mass;
  };
};

/// Selects blocks for query head `head` and tile first() + at.
template <class Block>
LH_PHASES void choose_antidiagonals(const Block& block, AntidiagonalShared& s,
                                    const AntidiagonalTask& task, int head, int64_t at) {
  const int64_t tile = task.first() + at, count = tile + 1;
  const int64_t place = (head * task.tiles + tile - task.first_tile) * task.columns;
  float* const scores = task.scores + place;
  const int64_t own = tile * task.per_block, next = own + task.per_block;
  const int64_t from = own > task.first_group ? own : task.first_group;
  const int64_t to = next < task.end_group ? next : task.end_group;
  block.each([&](int t) {
    for (int64_t b = t; b < count; b += kBlockThreads) {
      float sum = 0;
      for (int64_t g = from; g < to; ++g) {
        sum += task.masses[((g - task.first_group) * task.head_count + head) * task.blocks + b];
      }
      scores[b] = sum;
    }
  });
  // The first block and the tile's own block are always selected. Then the blocks with the highest
  // scores are selected until all selected blocks hold `wanted`.
  const double share = task.shares[head];
  const double wanted = share >= 1 ? INFINITY : share * static_cast<double>(to - from);
  const double forced = static_cast<double>(scores[0] + (tile > 0 ? scores[tile] : 0.0f));
  block.each([](int) {});
  block.each([&](int t) {
    if (t == 0) scores[0] = scores[tile] = 0;
  });
  int64_t taken = 0;
  if (forced < wanted) {
    count_within_mass(block, s.mass, count, nextafter(wanted - forced, 0.0),
                      [&](int64_t i) { return scores[i]; });
    taken = s.mass.taken + 1;
    block.each([](int) {});
  }
  int64_t others = 0;
  for (int64_t b = 0; b < count; b += kBlockThreads) {
    others += block.count([&](int t) { return b + t < count && scores[b + t] > 0; });
  }
  SelectTask select{scores, count, 1, tile > 0 ? 1 : 0, 0, task.chosen + place};
  select.count = (taken < others ? taken : others) + select.first + select.last;
  select_rows(block, s.select, select);
  const int64_t chosen = count < select.count ? count : select.count;
  uint8_t* const seen = task.seen + place;
  block.each([&](int t) {
    for (int64_t b = t; b < task.columns; b += kBlockThreads) seen[b] = 0;
  });
  block.each([&](int t) {
    for (int64_t i = t; i < chosen; i += kBlockThreads) seen[select.out[i]] = 1;
  });
}

}  // namespace longhaul::cuda
