#pragma once
// Attention of the last rows of a pass to every key and at every distance. Sparse prefill methods
// select keys by it (MInference, arXiv:2407.02490; FlexPrefill, arXiv:2502.20766).

#include <vector>

#include "ops/maps/line_sums.h"

namespace longhaul {

class LastRows {
 public:
  /// Sums the attention of the tasks' rows over the rows. A task is the query heads of a KV head,
  /// with one causal segment of `keys` keys that ends with the last row's own key. All tasks have
  /// the same rows.
  void look(AttendCall call, std::span<const AttendTask> tasks, int64_t keys);

  /// Bytes used by look() for `rows` rows and `keys` keys.
  static size_t bytes_for(int heads, int64_t rows, int64_t keys);

  int rows() const { return rows_; }
  /// [keys], for a query head.
  View<const float> columns(int head) const { return columns_.view().part(head * keys_, keys_); }
  /// [keys], by distance between row and key, for a query head.
  View<const float> diagonals(int head) const {
    return diagonals_.view().part(head * keys_, keys_);
  }

 private:
  int rows_ = 0;
  int64_t keys_ = 0;
  Array<float> columns_, diagonals_;  ///< [heads, keys]
  Array<float> lse_, mass_;           ///< scratch
  std::vector<LineSums> sums_;
  std::vector<View<float>> masses_;
};

}  // namespace longhaul
