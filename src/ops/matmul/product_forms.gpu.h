#pragma once
// DeviceMatrix and DeviceInput (ops/core/device_ops.h) on a GPU. A pass is one forward pass of the
// model.

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
  /// Returns the view for products of many prefill rows. If it has no bf16 copy of the weights, but
  /// enough passes have needed one and memory suffices, first makes the copy.
  MatrixView view_for_many(GpuQueue& queue) const {
    if (matrix_.view().bf16 == nullptr && wants_copy(WeightCopies::kPassesBefore)) {
      copies_->make_bf16(queue.handle(), matrix_, queue.memory_left());
    }
    return matrix_.view();
  }
  /// Returns the copy of the weights in 8-bit floats. If it does not exist, it is made from the
  /// bf16 weights, whose rows begin `stride` elements apart. Returns an empty result if too few
  /// passes have needed a copy, or if memory does not suffice.
  Fp8Rows kept_fp8(GpuQueue& queue, const uint16_t* bf16, int64_t stride) const {
    if (wants_copy(WeightCopies::kFp8PassesBefore)) {
      copies_->make_fp8(queue.handle(), matrix_, bf16, stride, queue.memory_left());
    }
    return matrix_.view().fp8;
  }

 private:
  /// Counts a pass that could use a copy. Returns whether more than `passes_before` passes have
  /// been counted and copies may still be made.
  bool wants_copy(int passes_before) const {
    return copies_->wanted() && ++passes_ > passes_before;
  }

  mutable Matrix matrix_;  ///< mutable, because making a copy does not change the weights
  std::shared_ptr<WeightCopies> copies_;
  mutable int passes_ = 0;
};

inline MatrixView view_of(const DeviceMatrix& matrix) {
  return static_cast<const OwnMatrix&>(matrix).view();
}

/// The DeviceInput of a GPU, in bf16. Rows that are multiplied by the stored weights directly also
/// have an int8 form. Some matvec kernels can convert a single row themselves. Such a row is
/// therefore converted only when another operation needs the converted forms.
class OwnInput : public DeviceInput {
 public:
  explicit OwnInput(GpuQueue& queue, bool fp8 = false)
      : queue_(queue), multiplies_fp8_(fp8), bf16_(queue), int8_(queue), fp8_(queue) {}

  void set_row_kind(RowKind kind) override { kind_ = kind; }
  void resize(int64_t rows, int64_t cols) {
    const bool decodes = kind_ == RowKind::kDecode && rows <= kMostDecodeRows;
    resize(rows, cols, rows <= kMostMatvecRows || decodes);
  }
  void resize(int64_t rows, int64_t cols, bool stored_weights) {
    made_of_ = {};
    has_fp8_ = false;
    rows_ = rows;
    cols_ = cols;
    both_ = stored_weights && cols % 32 == 0;
    bf16_.at_least(static_cast<size_t>(rows * cols) * sizeof(uint16_t));
    if (both_) int8_.at_least(int8_bytes(rows, cols));
  }
  /// Sets the rows to x [rows, cols], which must stay unchanged until the last product that reads
  /// the input. If `norm` [cols] is not null, RMS normalisation with this weight is applied to each
  /// row.
  void make(const float* x, const float* norm, float eps, int64_t rows, int64_t cols);

  int64_t rows() const { return rows_; }
  int64_t cols() const { return cols_; }
  /// Returns whether the int8 form exists in addition to bf16. It does not exist if weights are
  /// converted to bf16 for the rows (many prefill rows), or if cols is not a multiple of 32.
  bool both() const { return both_; }
  uint16_t* bf16() const {
    make_forms();
    return static_cast<uint16_t*>(bf16_.data);
  }
  /// Returns whether prefill products multiply 8-bit floats.
  bool multiplies_fp8() const { return multiplies_fp8_; }
  /// Returns the rows in 8-bit floats. They are converted once for all products.
  Fp8Rows fp8() const;
  ProductRows forms() const {
    return {bf16(), both_ ? int8_rows_in(int8_.data, rows_, cols_) : Int8Rows{}};
  }
  MatvecInput for_matvec() const {
    return {.x = bf16(), .bf16 = true, .rows = rows_, .cols = cols_, .int8 = forms().int8};
  }
  /// Returns the input for matvec kernels. If it is a single row that the kernels can convert
  /// themselves, it is passed unconverted.
  MatvecInput for_products() const;

 private:
  struct MadeOf {
    const float* x = nullptr;  ///< row that has not been converted yet; null: the converted forms
                               ///< exist
    const float* norm = nullptr;
    float eps = 0;
  };

  void make_forms() const {
    if (made_of_.x != nullptr) write_forms(std::exchange(made_of_, {}));
  }
  void write_forms(const MadeOf& of) const;

  GpuQueue& queue_;
  const bool multiplies_fp8_;
  RowKind kind_ = RowKind::kPrefill;
  int64_t rows_ = 0, cols_ = 0;
  bool both_ = false;
  mutable bool has_fp8_ = false;
  mutable MadeOf made_of_;
  Room bf16_, int8_;
  mutable Room fp8_;
};

}  // namespace longhaul::cuda
