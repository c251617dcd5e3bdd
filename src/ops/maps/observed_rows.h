#pragma once
// The last query rows of a text in one layer, kept until the keys are judged, and how much
// attention they paid to every key.

#include <span>
#include <vector>

#include "ops/attention/row_window.h"
#include "ops/maps/column_sums.h"

namespace longhaul {

class ObservedRows {
 public:
  /// What `rows` rows take, with those that they were moved from.
  static size_t bytes_for(int64_t rows, int heads, int head_dim) {
    return 2 * static_cast<size_t>(rows * heads * (head_dim + 1)) * sizeof(float);
  }

  /// Takes `rows` rows from position `begin` on: the first form of the call's queries, and
  /// `known_lse`, the denominators that attention left. Of all rows the last `most` stay. Rows from
  /// `begin` on that it has already were taken back since: a pass that was cancelled.
  void add(const AttendCall& call, int64_t begin, int64_t rows, int64_t most);

  int64_t count() const { return queries_.rows(); }

  /// Adds to paid[i] [lists[i].count] the probability that the keys of a list got from the
  /// observed rows of its query heads, summed. The observed rows must be the list's last ones, and
  /// nothing that they saw may have left it. Of `call` the queries are not used.
  void attention_paid(AttendCall call, std::span<const KeySegment> lists,
                      std::span<const View<float>> paid);

 private:
  RowWindow queries_;  ///< [rows, heads * head_dim]
  RowWindow lse_;      ///< [rows, heads]
  int64_t end_ = 0;    ///< position after the last of them
  std::vector<AttendTask> tasks_;
  std::vector<ColumnTarget> targets_;
};

}  // namespace longhaul
