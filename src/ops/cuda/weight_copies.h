#pragma once
// bf16 copies of quantized weights, which products with many rows read: without one the weights are
// expanded for every product, as long as all of a pass of 256 rows takes otherwise. They are made
// while memory is plenty, and given up for good when it runs short.

#include <cstddef>
#include <set>

#include "ops/cuda/matrix.h"

namespace longhaul::cuda {

class WeightCopies {
 public:
  /// Memory that stays free beside copies when they are made.
  static constexpr size_t kLeftFree = size_t{6} << 30;

  /// Whether more copies may be made.
  bool wanted() const { return wanted_; }
  /// Makes one of a matrix that has none, if `free` bytes of memory are enough.
  void make(Stream stream, Matrix& matrix, size_t free) {
    const MatrixView w = matrix.view();
    const size_t bytes = static_cast<size_t>(w.rows * bf16_stride_of(w.cols)) * sizeof(uint16_t);
    if (free < bytes + kLeftFree) {
      wanted_ = false;
      return;
    }
    matrix.keep_bf16(stream);
    copied_.insert(&matrix);
    bytes_ += bytes;
  }
  /// The matrix goes.
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
