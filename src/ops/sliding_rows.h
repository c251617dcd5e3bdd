#pragma once
// Rows of numbers for the tokens of a window: new ones join at the end, old ones leave at the
// front.

#include <vector>

#include "base/archive.h"
#include "base/host_stage.h"

namespace longhaul {

class SlidingRows {
 public:
  explicit SlidingRows(int64_t width = 1) : width_(width) {}

  int64_t width() const { return width_; }
  int64_t numbers() const { return static_cast<int64_t>(numbers_.size()); }
  int64_t rows() const { return numbers() / width_; }
  /// Rows from `first` on, `count` of them. Valid until rows join or leave.
  View<float> part(int64_t first, int64_t count) {
    return View<float>(std::span<float>(numbers_)).part(first * width_, count * width_);
  }

  void append_zeros(Queue& queue, int64_t rows);
  void drop_first(Queue& queue, int64_t rows);

  /// As one array; numbers() may be anything when a file has been read.
  void archive(Archive& archive) { archive.array(numbers_); }

 private:
  int64_t width_;
  std::vector<float> numbers_;
};

/// to [columns, rows] += x [rows, columns], rows = x.size() / columns.
void add_transposed(Queue& queue, View<const float> x, int64_t columns, View<float> to);

}  // namespace longhaul
