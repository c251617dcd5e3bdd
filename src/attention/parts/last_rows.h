#pragma once
// How much attention the last rows of a step pay to every key and at every distance: what sparse
// reading of prompts is chosen by.

#include <vector>

#include "attention/step.h"
#include "ops/line_sums.h"

namespace longhaul {

class LastRows {
 public:
  /// Of the step's last `most` rows, of the heads that attend. Summed over the rows.
  void look(LayerStep& step, int most);

  /// What a look at so many keys takes.
  static size_t bytes_for(const ModelShape& shape, int64_t keys) {
    return static_cast<size_t>(2 * shape.heads * keys) * sizeof(float);
  }

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
  std::vector<KeySegment> segments_;
  std::vector<AttendTask> tasks_;
  std::vector<LineSums> sums_;
  std::vector<View<float>> masses_;
};

}  // namespace longhaul
