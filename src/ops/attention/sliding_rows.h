#pragma once
// One row of floats for each token in a sliding window. New rows are appended at the end, and old
// rows are removed at the front.

#include "base/rolling_array.h"

namespace longhaul {

class SlidingRows {
 public:
  explicit SlidingRows(int64_t width = 1) : width_(width) {}

  /// Returns the largest size in bytes of a window of `rows` rows, including the spare room of
  /// RollingArray, which the window needs while it slides.
  static size_t bytes_for(int64_t rows, int64_t width) {
    return 2 * static_cast<size_t>(rows * width) * sizeof(float);
  }
  int64_t width() const { return width_; }
  int64_t numbers() const { return numbers_.size(); }
  int64_t rows() const { return numbers() / width_; }
  /// Returns rows [first, first + count). The view is valid until rows are added or removed.
  View<float> part(int64_t first, int64_t count) {
    return numbers_.view().part(first * width_, count * width_);
  }

  void append_zeros(Queue& queue, int64_t rows) { numbers_.append_zeros(queue, rows * width_); }
  void drop_first(int64_t rows) { numbers_.drop_first(rows * width_); }

  /// Saves or restores the rows as one array. After restoring from a file, the caller must check
  /// numbers(), because the file may contain any number of floats.
  void archive(Archive& archive) { numbers_.archive(archive); }

 private:
  int64_t width_;
  RollingArray<float> numbers_;
};

/// Adds the transpose of x [rows, columns], where rows = x.size() / columns, to `to` [columns,
/// rows].
void add_transposed(Queue& queue, View<const float> x, int64_t columns, View<float> to);
inline const DeviceOperation<bool(View<const float>, int64_t columns, View<float> to)>
    kAddTransposed;

}  // namespace longhaul
