#pragma once
// Divides a budget of rows among lists (attention/methods/adakv/allocate_rows.h), in one thread
// block. The code consists of phases between barriers (ops/core/gpu/block.h). A list holds the
// stored rows of one KV head. order_key() converts a float to an integer with the same order.

#include "ops/choose/threshold_phases.h"

namespace longhaul::cuda {

/// One of the lists that share the budget.
struct BudgetList {
  const float* scores;
  int64_t rows;
  int32_t* out;    ///< result: kept rows; has room for all rows that may be kept
  int32_t* count;  ///< [1]: length of the result
};

struct BudgetTask {
  const BudgetList* lists;
  int32_t list_count;
  /// Numbers of first rows, of last rows, and of rows with the highest scores in between, which
  /// every list keeps.
  int64_t first, last, guaranteed;
  /// Number of further rows that all lists together keep. The lists must have more remaining rows
  /// than this number.
  int64_t left;
  /// Scratch: the order_key() of the score of each row that is not among the first or last rows of
  /// its list. The rows of all lists follow each other.
  uint32_t* ranks;
};

LH_BOTH int64_t between_ends(const BudgetTask& task, const BudgetList& list) {
  const int64_t between = list.rows - task.first - task.last;
  return between > 0 ? between : 0;
}

/// Writes the kept rows of each list. Guaranteed rows get the rank 0 in task.ranks, which is not
/// the order_key() of any number.
template <class Block>
LH_PHASES void allocate_rows(const Block& block, SelectShared& s, const BudgetTask& task) {
  int64_t between = 0;
  for (int l = 0; l < task.list_count; ++l) {
    const BudgetList& list = task.lists[l];
    const int64_t n = between_ends(task, list);
    const float* const scores = list.scores + task.first;
    uint32_t* const ranks = task.ranks + between;
    const KeyThreshold guaranteed = find_threshold(block, s, n, task.guaranteed,
                                                   [&](int64_t i) { return order_key(scores[i]); });
    block.each([&](int t) {
      for (int64_t i = t; i < n; i += kBlockThreads) {
        const uint32_t key = order_key(scores[i]);
        ranks[i] = guaranteed.holds(key, i) ? 0 : key;
      }
    });
    between += n;
  }
  const KeyThreshold shared =
      find_threshold(block, s, between, task.left, [&](int64_t i) { return task.ranks[i]; });
  int64_t at = 0;
  for (int l = 0; l < task.list_count; ++l) {
    const BudgetList& list = task.lists[l];
    const int64_t n = between_ends(task, list);
    const bool whole = list.rows <= task.first + task.last;
    const int64_t first = whole ? list.rows : task.first, last = whole ? 0 : task.last;
    block.each([&](int t) {
      for (int64_t i = t; i < first; i += kBlockThreads) list.out[i] = static_cast<int32_t>(i);
    });
    write_kept(block, s, n, first, list.out + first, [&](int64_t i) {
      const uint32_t rank = task.ranks[at + i];
      return rank == 0 || shared.holds(rank, at + i);
    });
    block.each([&](int t) {
      const int64_t chosen = s.more;
      for (int64_t i = t; i < last; i += kBlockThreads) {
        list.out[first + chosen + i] = static_cast<int32_t>(list.rows - last + i);
      }
      if (t == 0) *list.count = static_cast<int32_t>(first + chosen + last);
    });
    at += n;
  }
}

}  // namespace longhaul::cuda
