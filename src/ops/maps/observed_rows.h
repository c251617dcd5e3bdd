#pragma once
// The observation window of one layer. It stores the last query rows of a text until the keys are
// scored, and then computes the attention probabilities that the keys received from these rows. A
// list is the stored rows of one KV head.

#include <span>
#include <vector>

#include "ops/attention/row_window.h"
#include "ops/maps/column_sums.h"

namespace longhaul {

class ObservedRows {
 public:
  /// Returns the size in bytes of the memory for `rows` rows. This includes a second copy, which
  /// exists while rows are moved.
  static size_t bytes_for(int64_t rows, int heads, int head_dim) {
    return 2 * static_cast<size_t>(rows * heads * (head_dim + 1)) * sizeof(float);
  }

  /// Stores `rows` query rows from position `begin` on: call.queries[0] and `call.lse_in` (logs of
  /// the softmax denominators). Keeps only the last `most` rows. If rows at `begin` or later are
  /// already stored, the pass that added them was cancelled, and the new rows replace them.
  void add(const AttendCall& call, int64_t begin, int64_t rows, int64_t most);

  int64_t count() const { return queries_.rows(); }

  /// Adds the attention probability that each key of lists[i] received to received[i]
  /// [lists[i].count], summed over the stored query rows and the query heads of the list. The
  /// stored query rows must be those of the list's last keys, and no key that they saw may have
  /// been evicted. Does not use the queries of `call`.
  void attention_received(AttendCall call, std::span<const KeySegment> lists,
                          std::span<const View<float>> received);

 private:
  RowWindow queries_;  ///< [rows, heads * head_dim]
  RowWindow lse_;      ///< [rows, heads]
  int64_t end_ = 0;    ///< position after the last stored row
  std::vector<AttendTask> tasks_;
  std::vector<ColumnTarget> targets_;
};

}  // namespace longhaul
