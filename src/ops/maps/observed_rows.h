#pragma once
// The observation window of one layer: the last query rows of a text, stored until the keys are
// scored, and their attention to every key.

#include <span>
#include <vector>

#include "ops/attention/row_window.h"
#include "ops/maps/column_sums.h"

namespace longhaul {

class ObservedRows {
 public:
  /// Bytes for `rows` rows, including a copy made when rows move.
  static size_t bytes_for(int64_t rows, int heads, int head_dim) {
    return 2 * static_cast<size_t>(rows * heads * (head_dim + 1)) * sizeof(float);
  }

  /// Stores `rows` rows from position `begin` on: the first form of the call's queries, and
  /// `lse_in`, the denominators from attention. Only the last `most` rows are kept. Stored rows
  /// from `begin` on are replaced, because their pass was cancelled.
  void add(const AttendCall& call, int64_t begin, int64_t rows, int64_t most);

  int64_t count() const { return queries_.rows(); }

  /// Adds to paid[i] [lists[i].count] the probability that the keys of a list received from the
  /// observed rows of its query heads, summed. The observed rows must be the list's last ones, and
  /// no key that they saw may have been evicted. The queries of `call` are not used.
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
