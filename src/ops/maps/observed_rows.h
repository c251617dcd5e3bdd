#pragma once
// Observation window of one layer. It stores the last query rows of a text until the keys are
// scored, and computes their attention to every key.

#include <span>
#include <vector>

#include "ops/attention/row_window.h"
#include "ops/maps/column_sums.h"

namespace longhaul {

class ObservedRows {
 public:
  /// Returns the bytes for `rows` rows, including a copy that is made when rows move.
  static size_t bytes_for(int64_t rows, int heads, int head_dim) {
    return 2 * static_cast<size_t>(rows * heads * (head_dim + 1)) * sizeof(float);
  }

  /// Stores the queries (first query form) and `lse_in` of `rows` rows from position `begin` on.
  /// `lse_in` has the softmax denominators of attention. Only the last `most` rows are kept. If
  /// rows from `begin` on are already stored, their pass was cancelled, and the new rows replace
  /// them.
  void add(const AttendCall& call, int64_t begin, int64_t rows, int64_t most);

  int64_t count() const { return queries_.rows(); }

  /// Adds the probability that each key of lists[i] received from the observed rows, summed over
  /// the list's query heads, to paid[i] [lists[i].count]. The observed rows must be the last rows
  /// of the list, and no key that they saw may have been evicted. The queries of `call` are not
  /// used.
  void attention_received(AttendCall call, std::span<const KeySegment> lists,
                          std::span<const View<float>> paid);

 private:
  RowWindow queries_;  ///< [rows, heads * head_dim]
  RowWindow lse_;      ///< [rows, heads]
  int64_t end_ = 0;    ///< position after the last row
  std::vector<AttendTask> tasks_;
  std::vector<ColumnTarget> targets_;
};

}  // namespace longhaul
