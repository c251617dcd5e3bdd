#pragma once
// Keeps the most recent rows of a growing sequence, up to a maximum number. SnapKV uses it to keep
// the queries of its observation window (arXiv:2404.14469).

#include "base/array.h"

namespace longhaul {

class RowWindow {
 public:
  /// Appends `rows` rows of `width` floats, and then removes all but the last `most` rows.
  void push(Queue& queue, View<const float> fresh, int64_t rows, int64_t width, int64_t most);
  /// Removes the last `rows` rows.
  void drop_last(int64_t rows, int64_t width);

  int64_t rows() const { return rows_; }
  View<const float> view() const { return numbers_.view(); }  ///< returns [rows, width]

 private:
  Array<float> numbers_;  ///< has exactly the size of the rows that are kept
  Array<float> spare_;    ///< temporary memory while rows are moved
  int64_t rows_ = 0;
};

}  // namespace longhaul
