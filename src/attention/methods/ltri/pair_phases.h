#pragma once
// Selects the blocks with the largest weights (attention/methods/ltri/block_votes.h). In this
// header, blocks are called rows. If weights are equal, rows with higher scores are preferred.
// order_key() converts a float to an integer with the same order, the key of the float. The code is
// for one thread block, as phases between barriers (ops/core/gpu/block.h).

#include "ops/choose/select_phases.h"

namespace longhaul::cuda {

struct PairTask {
  const float *weights = nullptr, *scores = nullptr;  ///< [rows]
  int64_t rows = 0, count = 0;                        ///< 0 <= count < rows
  float* equals = nullptr;                            ///< scratch [rows]
  int32_t* out = nullptr;                             ///< [count], ascending
};

/// Copies the scores of the rows whose weight has the order_key() `weight` to task.equals, in the
/// order of the rows. s.more receives their number.
template <class Block>
LH_PHASES void copy_equals(const Block& block, SelectShared& s, const PairTask& task,
                           uint32_t weight) {
  block.each([&](int t) {
    if (t == 0) s.more = 0;
  });
  for (int64_t begin = 0; begin < task.rows; begin += kBlockThreads) {
    const auto equal = [&](int t) {
      return begin + t < task.rows && order_key(task.weights[begin + t]) == weight ? 1u : 0u;
    };
    block.scan(s.scan, equal);
    block.each([&](int t) {
      if (equal(t) != 0) task.equals[s.more + s.scan.before[t]] = task.scores[begin + t];
    });
    block.each([&](int t) {
      if (t == 0) s.more += s.scan.all;
    });
  }
}

/// Writes the selected rows: those with a weight key above `weight`, those with a key equal to
/// `weight` and a score key above `score`, and the first `equals` rows with both keys equal.
template <class Block>
LH_PHASES void write_pairs(const Block& block, SelectShared& s, const PairTask& task,
                           uint32_t weight, uint32_t score, uint32_t equals) {
  block.each([&](int t) {
    if (t == 0) s.more = s.ties = 0;
  });
  for (int64_t begin = 0; begin < task.rows; begin += kBlockThreads) {
    // The upper half of a count is the number of rows above the threshold, and the lower half is
    // the number of rows equal to it.
    const auto count = [&](int t) {
      if (begin + t >= task.rows) return 0u;
      const uint32_t w = order_key(task.weights[begin + t]);
      if (w != weight) return w > weight ? 1u << 16 : 0u;
      const uint32_t key = order_key(task.scores[begin + t]);
      return key > score ? 1u << 16 : key == score ? 1u : 0u;
    };
    block.scan(s.scan, count);
    block.each([&](int t) {
      const uint32_t own = count(t), before = s.scan.before[t];
      const uint32_t more = s.more + (before >> 16), ties = s.ties + (before & 0xffffu);
      if (own == 0 || (own == 1 && ties >= equals)) return;
      task.out[more + (ties < equals ? ties : equals)] = static_cast<int32_t>(begin + t);
    });
    block.each([&](int t) {
      if (t == 0) s.more += s.scan.all >> 16, s.ties += s.scan.all & 0xffffu;
    });
  }
}

template <class Block>
LH_PHASES void select_pairs(const Block& block, SelectShared& s, const PairTask& task) {
  if (task.count == 0) return;  // the condition is equal in all threads
  find_boundary(block, s, task.weights, task.rows, static_cast<uint32_t>(task.count));
  const auto weight = static_cast<uint32_t>(s.prefix);
  const uint32_t left = s.left;
  block.each([&](int) {});  // barrier: all threads have read `s` before it is written again
  copy_equals(block, s, task, weight);
  const auto equals = static_cast<int64_t>(s.more);
  find_boundary(block, s, task.equals, equals, left);
  const auto score = static_cast<uint32_t>(s.prefix);
  const uint32_t ties = s.left;
  block.each([&](int) {});
  write_pairs(block, s, task, weight, score, ties);
}

}  // namespace longhaul::cuda
