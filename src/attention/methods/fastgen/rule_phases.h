#pragma once
// Applies FastGen's rules to the rows of a list (attention/methods/fastgen/hybrid_rules.h), in one
// thread block. The code consists of phases between barriers (ops/core/gpu/block.h). Rules are
// numbered as in HybridRules::Rule, from 0 (kSpecial) to 4 (kFull). order_key() converts a float to
// an integer with the same order.

#include "ops/choose/threshold_phases.h"

namespace longhaul::cuda {

struct RuleTask {
  const float *attention, *recent;  ///< [rows]
  /// Token numbers of the first `listed` rows. A later row r has the token number r + behind.
  const int32_t* tokens;
  int64_t listed, behind;
  /// Class of each token below `known` (0 ordinary, 1 special, 2 punctuation). Later tokens are
  /// ordinary.
  const uint8_t* classes;
  int64_t known;
  int64_t rows, begin, end, global;
  /// heavy: number of rows that kHeavy adds. window: number of last rows that kWindow adds.
  int64_t heavy, window;
  double enough;  ///< sum of attention that a rule's kept rows must have received
  /// The list's rule, 0 to 3. If it is negative, the rule is determined here. It becomes the first
  /// rule whose kept rows received `enough`, or 4 if there is none.
  int32_t rule;
  /// [2]: receives the rule and the number of kept rows. If null, the kept rows are written to
  /// `out` instead.
  int32_t* verdict;
  int32_t* out;  ///< the kept rows, if `verdict` is null
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
      heavy_ = find_threshold(block_, s_.select, task_.rows, task_.heavy,
                              [this](int64_t i) { return average_key(i); });
    }
    if (rule_ < 0) try_heavy();
    if (task_.verdict == nullptr) {
      write_kept(block_, s_.select, task_.rows, 0, task_.out,
                 [this](int64_t i) { return is_kept(i); });
      return;
    }
    sum([this](int64_t i, double(&own)[2]) { own[0] += is_kept(i) ? 1 : 0; });
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
  /// Returns whether the row's token is one of the first tokens, special, or (if `punctuation` is
  /// true) punctuation.
  LH_PHASES bool by_class(int64_t row, bool punctuation) const {
    const int64_t token = token_of(row);
    const int is = token < task_.known ? task_.classes[token] : 0;
    return token < task_.global || is == 1 || (punctuation && is == 2);
  }
  /// Returns the order_key() of the average attention that a row received from the query rows that
  /// could see it, or the key of -1 if the row is kept because of the class or number of its token.
  LH_PHASES uint32_t average_key(int64_t row) const {
    if (by_class(row, true)) return order_key(-1.0f);
    const int64_t token = token_of(row), from = token > task_.begin ? token : task_.begin;
    return order_key(task_.attention[row] / static_cast<float>(task_.end - from));
  }
  LH_PHASES bool heavy(int64_t row) const {
    return by_class(row, true) || heavy_.holds(average_key(row), row);
  }
  LH_PHASES bool is_kept(int64_t row) const {
    if (rule_ < 2) return by_class(row, rule_ == 1);
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
      own[0] += by_class(i, false) ? attention(i) : 0;
      own[1] += by_class(i, true) ? attention(i) : 0;
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
  KeyThreshold heavy_;
};

}  // namespace longhaul::cuda
