#pragma once
// How much attention the last rows of a pass pay to every key and at every distance: what sparse
// reading of prompts is chosen by (MInference, arXiv:2407.02490; FlexPrefill, arXiv:2502.20766).

#include <vector>

#include "ops/maps/line_sums.h"

namespace longhaul {

class LastRows {
 public:
  /// Of the rows of the tasks, summed over the rows. A task is the query heads of a KV head, with
  /// one causal segment of `keys` keys that ends with the last row's own; all have the same rows.
  void look(AttendCall call, std::span<const AttendTask> tasks, int64_t keys);

  /// What a look of `rows` rows at so many keys takes.
  static size_t bytes_for(int heads, int64_t rows, int64_t keys);

  int rows() const { return rows_; }
  /// [keys] of a query head.
  View<const float> columns(int head) const { return columns_.view().part(head * keys_, keys_); }
  /// [keys]: by distance between row and key.
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
