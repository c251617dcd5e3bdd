#pragma once
// The observation window of one layer. It stores the last query rows of a text until the keys are
// scored. It then computes their attention to every key. A list holds the stored rows of one KV
// head.

#include <span>
#include <vector>

#include "ops/attention/row_window.h"
#include "ops/maps/column_sums.h"

namespace longhaul {

class ObservedRows {
 public:
  /// Returns the bytes for `rows` rows. They include the copy that is made while rows are moved.
  static size_t bytes_for(int64_t rows, int heads, int head_dim) {
    return 2 * static_cast<size_t>(rows * heads * (head_dim + 1)) * sizeof(float);
  }

  /// Stores the first query array and `lse_in` (the softmax denominators) of `rows` rows from
  /// position `begin` on. Keeps only the last `most` rows. If rows from `begin` on are already
  /// stored, their pass was cancelled, and the new rows replace them.
  void add(const AttendCall& call, int64_t begin, int64_t rows, int64_t most);

  int64_t count() const { return queries_.rows(); }

  /// Adds the attention that each key of lists[i] received to received[i] [lists[i].count]. The
  /// attention is summed over the observed rows and the list's query heads. The observed rows must
  /// be the last rows of the list, and no key that they saw may have been evicted. Does not use the
  /// queries of `call`.
  void attention_received(AttendCall call, std::span<const KeySegment> lists,
                          std::span<const View<float>> received);

 private:
  RowWindow queries_;  ///< [rows, heads * head_dim]
  RowWindow lse_;      ///< [rows, heads]
  int64_t end_ = 0;    ///< position after the last row
  std::vector<AttendTask> tasks_;
  std::vector<ColumnTarget> targets_;
};

}  // namespace longhaul
