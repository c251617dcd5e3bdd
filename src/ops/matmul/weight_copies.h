#pragma once
// Copies of weights in bf16 or 8-bit floats, which make prefill products faster. Without a copy,
// each forward pass of the model (pass) converts the stored weights again. In a pass of 256 rows,
// this conversion takes as long as everything else together. In a pass of 8,192 rows, it takes a
// fortieth of the time (measured for 8B weights in Q8_0). Copies are made while enough memory is
// free. When memory runs short, all copies are dropped, and no new ones are made.

#include <cstddef>
#include <set>

#include "ops/matmul/matrix.gpu.h"

namespace longhaul::cuda {

class WeightCopies {
 public:
  /// Number of passes that convert a matrix before its bf16 copy is made. Allocating and making the
  /// copy takes about as long as 16 conversions, and each later pass saves one conversion. The copy
  /// is made when the conversions so far have cost as much as the copy. In the worst case, no pass
  /// follows, and the prompt has spent twice as long on its weights as without copies.
  static constexpr int kPassesBefore = 16;
  /// Number of passes before a copy in 8-bit floats is made. It is a quarter of kPassesBefore,
  /// because such a copy needs half the memory of a bf16 copy and saves twice the work per pass.
  static constexpr int kFp8PassesBefore = 4;
  /// Memory in bytes that must remain free when copies are made.
  static constexpr size_t kLeftFree = size_t{6} << 30;

  bool wanted() const { return wanted_; }
  /// Makes a bf16 copy of the matrix if kLeftFree of the `free` bytes of memory remain free.
  /// Otherwise neither this copy nor any later one is made.
  void make_bf16(Stream stream, Matrix& matrix, size_t free) {
    const auto stride = static_cast<size_t>(bf16_stride_of(matrix.cols()));
    if (!has_room(free, static_cast<size_t>(matrix.rows()) * stride * sizeof(uint16_t))) return;
    matrix.keep_bf16(stream);
    note(matrix);
  }
  /// Makes a copy in 8-bit floats under the same condition. `bf16` holds the converted weights,
  /// whose rows begin `stride` elements apart.
  void make_fp8(Stream stream, Matrix& matrix, const uint16_t* bf16, int64_t stride, size_t free) {
    if (!has_room(free, fp8_bytes(matrix.rows(), matrix.cols()))) return;
    matrix.keep_fp8(stream, bf16, stride);
    note(matrix);
  }
  /// Removes the matrix from the set of matrices with copies. Must be called before the matrix is
  /// destroyed.
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
  /// Adds the matrix to the set of matrices with copies and updates the total size. All sizes are
  /// added up again, because the matrix may already have had a copy in the other format.
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
