#pragma once
// Rules that judge the rows of a list. One thread block runs each of them in phases (block.h).
// There are RoCo's steadiest rows (ops/choose/steady_scores.h), FastGen's rules
// (ops/choose/hybrid_rules.h), and a budget that the lists of a layer share
// (ops/choose/select_rows.h).

#include <cmath>

#include "ops/choose/cut_phases.h"

namespace longhaul::cuda {

struct SteadyTask {
  const float *sums, *squares, *seen;
  float* scores;  ///< [rows]
  int64_t rows, sink, settling, feasible;
};

LH_BOTH double square_of(double x) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(x, x);  // rounds the product separately (no fma), as the host code does
#else
  return x * x;
#endif
}

/// Returns the variance of the attention that a row received. A variance below the rounding error
/// counts as zero (ops/choose/steady_scores.cc).
LH_BOTH float steadiness_of(float sum, float square, float seen) {
  const double mean = static_cast<double>(sum / seen);
  const double variance = static_cast<double>(square / seen) - square_of(mean);
  const double rounding = (16 + 2 * static_cast<double>(seen)) * 0x1p-24;
  return variance < rounding * mean * mean ? 0.0f : static_cast<float>(-sqrt(variance));
}

template <class Block>
LH_PHASES void steady_scores(const Block& block, SelectShared& s, const SteadyTask& task) {
  const int64_t judged = task.rows - task.sink - task.settling;
  float* const scores = task.scores + task.sink;
  const float *const sums = task.sums + task.sink, *const seen = task.seen + task.sink;
  const float* const squares = task.squares + task.sink;
  block.each([&](int t) {
    for (int64_t i = t; i < judged; i += kBlockThreads) {
      scores[i] = steadiness_of(sums[i], squares[i], seen[i]);  // scratch until the cut is found
    }
  });
  const KeyCut cut =
      cut_after(block, s, judged, task.feasible, [&](int64_t i) { return order_key(scores[i]); });
  block.each([&](int t) {
    constexpr float kLeftAlone = INFINITY;
    for (int64_t i = t; i < task.rows; i += kBlockThreads) {
      const int64_t at = i - task.sink;
      const bool taken = at >= 0 && at < judged && cut.holds(order_key(scores[at]), at);
      task.scores[i] = taken ? sums[at] / seen[at] : kLeftAlone;
    }
  });
}

struct RuleTask {
  const float *attention, *recent;  ///< [rows]
  const int32_t* tokens;  ///< tokens of the first `listed` rows; a later row has token row + behind
  int64_t listed, behind;
  /// Class of each token below `known`: 0 ordinary, 1 special, 2 punctuation.
  const uint8_t* classes;
  int64_t known;
  int64_t rows, begin, end, global;
  /// Number of rows that rule kHeavy adds, and number of last rows that kWindow adds.
  int64_t heavy, window;
  double enough;  ///< attention that the rows of a rule must have received
  int32_t rule;   ///< 0 to 3; negative: the first rule that holds `enough`, or 4 if there is none
  /// [2]: receives the rule and its number of rows; null: the rows are written to `out`.
  int32_t* verdict;
  int32_t* out;  ///< the rows that the given rule keeps
};

struct RuleShared {
  SelectShared select;
  SumShared<2> sums;
};

template <class Block>
class RuleJudgement {
 public:
  LH_PHASES RuleJudgement(const Block& block, RuleShared& s, const RuleTask& task)
      : block_(block), s_(s), task_(task), rule_(task.rule) {}

  LH_PHASES void run() {
    if (rule_ < 0) try_classes();
    if (rule_ < 0 || rule_ == 2 || rule_ == 3) {
      heavy_ = cut_after(block_, s_.select, task_.rows, task_.heavy,
                         [this](int64_t i) { return average_key(i); });
    }
    if (rule_ < 0) try_heavy();
    if (task_.verdict == nullptr) {
      write_staying(block_, s_.select, task_.rows, 0, task_.out,
                    [this](int64_t i) { return stays(i); });
      return;
    }
    sum([this](int64_t i, double(&own)[2]) { own[0] += stays(i) ? 1 : 0; });
    block_.each([&](int t) {
      if (t > 0) return;
      task_.verdict[0] = rule_;
      task_.verdict[1] = static_cast<int32_t>(s_.sums.all[0]);
    });
  }

 private:
  LH_PHASES int64_t token_of(int64_t row) const {
    return row < task_.listed ? task_.tokens[row] : row + task_.behind;
  }
  /// Returns whether the rule keeps the row because of its token's class.
  LH_PHASES bool named(int64_t row, bool punctuation) const {
    const int64_t token = token_of(row);
    const int is = token < task_.known ? task_.classes[token] : 0;
    return token < task_.global || is == 1 || (punctuation && is == 2);
  }
  /// Returns the key of the average attention that a row received from the rows that could see it.
  LH_PHASES uint32_t average_key(int64_t row) const {
    if (named(row, true)) return order_key(-1.0f);
    const int64_t token = token_of(row), from = token > task_.begin ? token : task_.begin;
    return order_key(task_.attention[row] / static_cast<float>(task_.end - from));
  }
  LH_PHASES bool heavy(int64_t row) const {
    return named(row, true) || heavy_.holds(average_key(row), row);
  }
  LH_PHASES bool stays(int64_t row) const {
    if (rule_ < 2) return named(row, rule_ == 1);
    if (rule_ > 3) return true;
    return heavy(row) || (rule_ == 3 && row >= task_.rows - task_.window);
  }
  template <class Add>
  LH_PHASES void sum(Add&& add) const {
    block_.sums(s_.sums, [&](int t, double(&own)[2]) {
      for (int64_t i = t; i < task_.rows; i += kBlockThreads) add(i, own);
    });
  }
  LH_PHASES double attention(int64_t row) const {
    return static_cast<double>(task_.attention[row]);
  }

  LH_PHASES void try_classes() {
    sum([this](int64_t i, double(&own)[2]) {
      own[0] += named(i, false) ? attention(i) : 0;
      own[1] += named(i, true) ? attention(i) : 0;
    });
    if (s_.sums.all[0] >= task_.enough) {
      rule_ = 0;
    } else if (s_.sums.all[1] >= task_.enough) {
      rule_ = 1;
    }
  }
  LH_PHASES void try_heavy() {
    sum([this](int64_t i, double(&own)[2]) {
      const bool kept = heavy(i);
      own[0] += kept ? attention(i) : 0;
      own[1] += kept ? attention(i) : static_cast<double>(task_.recent[i]);
    });
    rule_ = s_.sums.all[0] >= task_.enough ? 2 : s_.sums.all[1] >= task_.enough ? 3 : 4;
  }

  const Block& block_;
  RuleShared& s_;
  const RuleTask& task_;
  int rule_;
  KeyCut heavy_;
};

/// A list that shares a budget with other lists.
struct DealtList {
  const float* scores;
  int64_t rows;
  int32_t* out;    ///< memory for all rows that may be kept
  int32_t* count;  ///< [1]
};

struct DealTask {
  const DealtList* lists;
  int32_t list_count;
  int64_t first, last, sure;  ///< numbers of first, last and best rows that every list keeps
  /// Number of further rows to keep over all lists; less than the number of remaining rows.
  int64_t left;
  uint32_t* ranks;  ///< scratch: order keys of the rows between the ends, over all lists
};

LH_BOTH int64_t between_ends(const DealTask& task, const DealtList& list) {
  const int64_t between = list.rows - task.first - task.last;
  return between > 0 ? between : 0;
}

/// Distributes the budget. Rows that a list keeps in any case get rank 0, which is not the key of
/// any number.
template <class Block>
LH_PHASES void deal_rows(const Block& block, SelectShared& s, const DealTask& task) {
  int64_t between = 0;
  for (int l = 0; l < task.list_count; ++l) {
    const DealtList& list = task.lists[l];
    const int64_t n = between_ends(task, list);
    const float* const scores = list.scores + task.first;
    uint32_t* const ranks = task.ranks + between;
    const KeyCut sure =
        cut_after(block, s, n, task.sure, [&](int64_t i) { return order_key(scores[i]); });
    block.each([&](int t) {
      for (int64_t i = t; i < n; i += kBlockThreads) {
        const uint32_t key = order_key(scores[i]);
        ranks[i] = sure.holds(key, i) ? 0 : key;
      }
    });
    between += n;
  }
  const KeyCut shared =
      cut_after(block, s, between, task.left, [&](int64_t i) { return task.ranks[i]; });
  int64_t at = 0;
  for (int l = 0; l < task.list_count; ++l) {
    const DealtList& list = task.lists[l];
    const int64_t n = between_ends(task, list);
    const bool whole = list.rows <= task.first + task.last;
    const int64_t first = whole ? list.rows : task.first, last = whole ? 0 : task.last;
    block.each([&](int t) {
      for (int64_t i = t; i < first; i += kBlockThreads) list.out[i] = static_cast<int32_t>(i);
    });
    write_staying(block, s, n, first, list.out + first, [&](int64_t i) {
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
