#pragma once
// bf16 copies of quantized weights for products with many rows: expanding the weights anew takes as
// long as all else in a pass of 256 rows, and a fortieth of one of 8,192 (Q8_0, 8B). They are made
// while memory is plenty, and given up for good when it runs short.

#include <cstddef>
#include <set>

#include "ops/cuda/matrix.h"

namespace longhaul::cuda {

class WeightCopies {
 public:
  /// A copy, with its memory, takes about as long as expanding for so many passes, and is repaid
  /// after as many more: at worst a text waits twice as long for its weights as without copies.
  static constexpr int kPassesBefore = 16;
  /// Memory that stays free beside copies when they are made.
  static constexpr size_t kLeftFree = size_t{6} << 30;

  bool wanted(const MatrixView& weight) const { return wanted_ && weight.bf16 == nullptr; }
  /// Copies the matrix if `free` bytes of memory are enough; otherwise no more copies are wanted.
  void make(Stream stream, Matrix& matrix, size_t free) {
    const auto stride = static_cast<size_t>(bf16_stride_of(matrix.cols()));
    if (free < static_cast<size_t>(matrix.rows()) * stride * sizeof(uint16_t) + kLeftFree) {
      wanted_ = false;
      return;
    }
    matrix.keep_bf16(stream);
    copied_.insert(&matrix);
    bytes_ += matrix.bf16_bytes();
  }
  /// To be called before the matrix is destroyed.
  void forget(Matrix& matrix) {
    if (copied_.erase(&matrix) > 0) bytes_ -= matrix.bf16_bytes();
  }
  void give_up() {
    for (Matrix* matrix : copied_) matrix->drop_bf16();
    copied_.clear();
    bytes_ = 0;
    wanted_ = false;
  }
  size_t bytes() const { return bytes_; }

 private:
  std::set<Matrix*> copied_;
  size_t bytes_ = 0;
  bool wanted_ = true;
};

}  // namespace longhaul::cuda
