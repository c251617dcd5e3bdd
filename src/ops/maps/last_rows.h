#pragma once
// Computes the attention probabilities of the last query rows of a forward pass, summed per key and
// per distance between row and key. Sparse prefill methods select keys by these sums (MInference,
// arXiv:2407.02490; FlexPrefill, arXiv:2502.20766).

#include <vector>

#include "ops/maps/line_sums.h"

namespace longhaul {

class LastRows {
 public:
  /// Computes the sums for the rows of the tasks. There is one task per KV head, with the query
  /// heads of that KV head, and all tasks have the same rows. Each task has one causal segment of
  /// `keys` keys, which ends with the key of the last row.
  void look(AttendCall call, std::span<const AttendTask> tasks, int64_t keys);

  /// Returns the size in bytes of the memory that look() needs for `rows` rows and `keys` keys.
  static size_t bytes_for(int heads, int64_t rows, int64_t keys);

  int rows() const { return rows_; }
  /// Returns the sums of a query head per key, [keys].
  View<const float> columns(int head) const { return columns_.view().part(head * keys_, keys_); }
  /// Returns the sums of a query head per distance between row and key, [keys].
  View<const float> diagonals(int head) const {
    return diagonals_.view().part(head * keys_, keys_);
  }

 private:
  int rows_ = 0;
  int64_t keys_ = 0;
  Array<float> columns_, diagonals_;  ///< [heads, keys]
  Array<float> lse_, mass_;           ///< scratch memory
  std::vector<LineSums> sums_;
  std::vector<View<float>> masses_;
};

}  // namespace longhaul
