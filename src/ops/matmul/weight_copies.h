#pragma once
// Copies of weights in bf16 or 8-bit floats, for prefill products. A pass is one forward pass of
// the model. In a pass of 256 rows, the expansion of stored weights takes as long as everything
// else. In a pass of 8,192 rows, it takes a fortieth of the time (Q8_0, 8B). Copies are made if
// memory is plentiful. They are dropped for good when memory runs short.

#include <cstddef>
#include <set>

#include "ops/matmul/matrix.gpu.h"

namespace longhaul::cuda {

class WeightCopies {
 public:
  /// Number of passes before a bf16 copy is made. Allocating and making a copy takes about as long
  /// as the expansions of this many passes, and the copy saves this time in as many further passes.
  /// In the worst case, a prompt waits twice as long for its weights as without copies.
  static constexpr int kPassesBefore = 16;
  /// Number of passes before a copy in 8-bit floats is made. Such a copy needs half the memory and
  /// saves twice the work.
  static constexpr int kFp8PassesBefore = 4;
  /// Memory in bytes that must remain free when copies are made.
  static constexpr size_t kLeftFree = size_t{6} << 30;

  bool wanted() const { return wanted_; }
  /// Makes a bf16 copy of the matrix if `free` bytes of memory suffice. Otherwise no further copies
  /// are made.
  void make_bf16(Stream stream, Matrix& matrix, size_t free) {
    const auto stride = static_cast<size_t>(bf16_stride_of(matrix.cols()));
    if (!has_room(free, static_cast<size_t>(matrix.rows()) * stride * sizeof(uint16_t))) return;
    matrix.keep_bf16(stream);
    note(matrix);
  }
  /// Makes a copy in 8-bit floats from the bf16 weights, whose rows are `stride` elements apart.
  void make_fp8(Stream stream, Matrix& matrix, const uint16_t* bf16, int64_t stride, size_t free) {
    if (!has_room(free, fp8_bytes(matrix.rows(), matrix.cols()))) return;
    matrix.keep_fp8(stream, bf16, stride);
    note(matrix);
  }
  /// Removes the matrix from the list of copies. It must be called before the matrix is destroyed.
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
  /// Updates the number of bytes of all copies. The number is counted anew, because the matrix may
  /// have had a copy of the other kind.
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
