#pragma once
// What ops/device_ops.h calls a matrix and an input, on a GPU.

#include <memory>
#include <utility>

#include "ops/cuda/int8_rows.h"
#include "ops/cuda/matrix.h"
#include "ops/cuda/matvec.h"
#include "ops/cuda/room.h"
#include "ops/cuda/weight_copies.h"
#include "ops/device_ops.h"

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
    if (copies_->wanted(matrix_.view()) && ++passes_ > WeightCopies::kPassesBefore) {
      copies_->make(queue.handle(), matrix_, queue.memory_left());
    }
    return matrix_.view();
  }

 private:
  mutable Matrix matrix_;  ///< the weights stay the same, copied or not
  std::shared_ptr<WeightCopies> copies_;
  mutable int passes_ = 0;  ///< that would have gained by a copy
};

inline MatrixView view_of(const DeviceMatrix& matrix) {
  return static_cast<const OwnMatrix&>(matrix).view();
}

/// bf16; rows that meet stored weights are kept in int8, too. One row, whose products can make the
/// forms themselves, is made into them when someone else asks for them.
class OwnInput : public DeviceInput {
 public:
  explicit OwnInput(GpuQueue& queue) : queue_(queue), bf16_(queue), int8_(queue) {}

  void resize(int64_t rows, int64_t cols) { resize(rows, cols, rows <= kMostMatvecRows); }
  void resize(int64_t rows, int64_t cols, bool stored_weights) {
    made_of_ = {};
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
  int64_t rows_ = 0, cols_ = 0;
  bool both_ = false;
  mutable MadeOf made_of_;
  Room bf16_, int8_;
};

}  // namespace longhaul::cuda
