#pragma once
// What ops/core/device_ops.h calls a matrix and an input, on a GPU.

#include <memory>
#include <utility>

#include "ops/core/device_ops.h"
#include "ops/core/gpu/room.h"
#include "ops/matmul/fp8_rows.gpu.h"
#include "ops/matmul/int8_rows.gpu.h"
#include "ops/matmul/matrix.gpu.h"
#include "ops/matmul/matvec.gpu.h"
#include "ops/matmul/weight_copies.h"

namespace longhaul::cuda {

class OwnMatrix : public DeviceMatrix {
 public:
  OwnMatrix(Matrix&& matrix, std::shared_ptr<WeightCopies> copies)
      : matrix_(std::move(matrix)), copies_(std::move(copies)) {}
  ~OwnMatrix() override { copies_->forget(matrix_); }
  OwnMatrix(const OwnMatrix&) = delete;
  OwnMatrix& operator=(const OwnMatrix&) = delete;
  int64_t rows() const override { return matrix_.rows(); }
  int64_t cols() const override { return matrix_.cols(); }
  size_t bytes() const override { return matrix_.bytes(); }
  MatrixView view() const { return matrix_.view(); }
  /// For products with many rows: with a bf16 copy, where there is room.
  MatrixView view_for_many(GpuQueue& queue) const {
    if (matrix_.view().bf16 == nullptr && wants_copy(WeightCopies::kPassesBefore)) {
      copies_->make_bf16(queue.handle(), matrix_, queue.memory_left());
    }
    return matrix_.view();
  }
  /// The copy in 8-bit floats that is kept from now on, made of the weights in bf16, rows `stride`
  /// elements apart; without numbers while too few passes have wanted one, or where no room is.
  Fp8Rows kept_fp8(GpuQueue& queue, const uint16_t* bf16, int64_t stride) const {
    if (wants_copy(WeightCopies::kFp8PassesBefore)) {
      copies_->make_fp8(queue.handle(), matrix_, bf16, stride, queue.memory_left());
    }
    return matrix_.view().fp8;
  }

 private:
  /// Counts a pass that would gain by a copy: whether there have been enough of them.
  bool wants_copy(int passes_before) const {
    return copies_->wanted() && ++passes_ > passes_before;
  }

  mutable Matrix matrix_;  ///< the weights stay the same, copied or not
  std::shared_ptr<WeightCopies> copies_;
  mutable int passes_ = 0;
};

inline MatrixView view_of(const DeviceMatrix& matrix) {
  return static_cast<const OwnMatrix&>(matrix).view();
}

/// bf16; rows that meet stored weights are kept in int8, too. One row, whose products can make the
/// forms themselves, is made into them when someone else asks for them.
class OwnInput : public DeviceInput {
 public:
  explicit OwnInput(GpuQueue& queue, bool fp8 = false)
      : queue_(queue), multiplies_fp8_(fp8), bf16_(queue), int8_(queue), fp8_(queue) {}

  void resize(int64_t rows, int64_t cols) { resize(rows, cols, rows <= kMostMatvecRows); }
  void resize(int64_t rows, int64_t cols, bool stored_weights) {
    made_of_ = {};
    has_fp8_ = false;
    rows_ = rows;
    cols_ = cols;
    both_ = stored_weights && cols % 32 == 0;
    bf16_.at_least(static_cast<size_t>(rows * cols) * sizeof(uint16_t));
    if (both_) int8_.at_least(int8_bytes(rows, cols));
  }
  /// The rows [rows, cols] at x, which stay until their last product; normalised where `norm`
  /// [cols] is there.
  void make(const float* x, const float* norm, float eps, int64_t rows, int64_t cols);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  /// Else there is bf16 alone: rows that meet expanded weights, or that no block type has.
  bool both() const { return both_; }
  uint16_t* bf16() const {
    make_forms();
    return static_cast<uint16_t*>(bf16_.data);
  }
  /// Whether many rows are multiplied as 8-bit floats.
  bool multiplies_fp8() const { return multiplies_fp8_; }
  /// Made once for all products.
  Fp8Rows fp8() const;
  ProductRows forms() const {
    return {bf16(), both_ ? int8_rows_in(int8_.data, rows_, cols_) : Int8Rows{}};
  }
  MatvecInput for_matvec() const {
    return {.x = bf16(), .bf16 = true, .rows = rows_, .cols = cols_, .int8 = forms().int8};
  }
  /// As it is for products that may make its forms.
  MatvecInput for_products() const;

 private:
  struct MadeOf {
    const float* x = nullptr;  ///< null: the forms are there
    const float* norm = nullptr;
    float eps = 0;
  };

  void make_forms() const {
    if (made_of_.x != nullptr) write_forms(std::exchange(made_of_, {}));
  }
  void write_forms(const MadeOf& of) const;

  GpuQueue& queue_;
  const bool multiplies_fp8_;
  int64_t rows_ = 0, cols_ = 0;
  bool both_ = false;
  mutable bool has_fp8_ = false;
  mutable MadeOf made_of_;
  Room bf16_, int8_;
  mutable Room fp8_;
};

}  // namespace longhaul::cuda
