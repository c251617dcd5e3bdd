#pragma once
// The last rows of a stream of rows, as far as there is room: what SnapKV's observation window
// holds (arXiv:2404.14469).

#include "base/array.h"

namespace longhaul {

class RowWindow {
 public:
  /// Appends `rows` rows of `width` numbers, of which no more than `most` in all stay, the last
  /// ones.
  void push(Queue& queue, View<const float> fresh, int64_t rows, int64_t width, int64_t most);
  /// Takes the last `rows` rows back.
  void drop_last(int64_t rows, int64_t width);

  int64_t rows() const { return rows_; }
  View<const float> view() const { return numbers_.view(); }  ///< [rows, width]

 private:
  Array<float> numbers_;  ///< its size is that of the rows that are held
  Array<float> spare_;    ///< the numbers while rows move
  int64_t rows_ = 0;
};

}  // namespace longhaul
