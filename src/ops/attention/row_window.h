#pragma once
// Keeps the last rows of a stream of rows, up to a maximum. SnapKV's observation window uses it
// (arXiv:2404.14469).

#include "base/array.h"

namespace longhaul {

class RowWindow {
 public:
  /// Appends `rows` rows of `width` values and keeps only the last `most` rows.
  void push(Queue& queue, View<const float> fresh, int64_t rows, int64_t width, int64_t most);
  /// Removes the last `rows` rows.
  void drop_last(int64_t rows, int64_t width);

  int64_t rows() const { return rows_; }
  View<const float> view() const { return numbers_.view(); }  ///< [rows, width]

 private:
  Array<float> numbers_;  ///< sized for the rows currently held
  Array<float> spare_;    ///< temporary memory while rows move
  int64_t rows_ = 0;
};

}  // namespace longhaul
