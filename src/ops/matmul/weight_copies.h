#pragma once
// Copies of weights for products with many rows, in bf16 or in 8-bit floats: making them anew takes
// as long as all else in a pass of 256 rows, and a fortieth of one of 8,192 (Q8_0, 8B). They are
// made while memory is plenty, and given up for good when it runs short.

#include <cstddef>
#include <set>

#include "ops/matmul/matrix.gpu.h"

namespace longhaul::cuda {

class WeightCopies {
 public:
  /// A copy, with its memory, takes about as long as expanding for so many passes, and is repaid
  /// after as many more: at worst a text waits twice as long for its weights as without copies.
  static constexpr int kPassesBefore = 16;
  /// The same of 8-bit floats, which have half of the memory and save twice the work.
  static constexpr int kFp8PassesBefore = 4;
  /// Memory that stays free beside copies when they are made.
  static constexpr size_t kLeftFree = size_t{6} << 30;

  bool wanted() const { return wanted_; }
  /// Copies the matrix if `free` bytes of memory are enough; otherwise no more copies are wanted.
  void make_bf16(Stream stream, Matrix& matrix, size_t free) {
    const auto stride = static_cast<size_t>(bf16_stride_of(matrix.cols()));
    if (!has_room(free, static_cast<size_t>(matrix.rows()) * stride * sizeof(uint16_t))) return;
    matrix.keep_bf16(stream);
    note(matrix);
  }
  /// The same in 8-bit floats, of the weights in bf16, rows `stride` elements apart.
  void make_fp8(Stream stream, Matrix& matrix, const uint16_t* bf16, int64_t stride, size_t free) {
    if (!has_room(free, fp8_bytes(matrix.rows(), matrix.cols()))) return;
    matrix.keep_fp8(stream, bf16, stride);
    note(matrix);
  }
  /// To be called before the matrix is destroyed.
  void forget(Matrix& matrix) {
    if (copied_.erase(&matrix) > 0) bytes_ -= matrix.copy_bytes();
  }
  void give_up() {
    for (Matrix* matrix : copied_) matrix->drop_copies();
    copied_.clear();
    bytes_ = 0;
    wanted_ = false;
  }
  size_t bytes() const { return bytes_; }

 private:
  bool has_room(size_t free, size_t bytes) {
    wanted_ = wanted_ && free >= bytes + kLeftFree;
    return wanted_;
  }
  /// Counts all bytes anew: the matrix may have had a copy of the other kind.
  void note(Matrix& matrix) {
    copied_.insert(&matrix);
    bytes_ = 0;
    for (const Matrix* each : copied_) bytes_ += each->copy_bytes();
  }

  std::set<Matrix*> copied_;
  size_t bytes_ = 0;
  bool wanted_ = true;
};

}  // namespace longhaul::cuda
