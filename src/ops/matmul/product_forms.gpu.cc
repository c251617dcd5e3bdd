#include "ops/matmul/product_forms.gpu.h"

#include "ops/core/elementwise.gpu.h"
#include "ops/core/rms_norm.gpu.h"

namespace longhaul::cuda {

void OwnInput::make(const float* x, const float* norm, float eps, int64_t rows, int64_t cols) {
  resize(rows, cols);
  made_of_ = {x, norm, eps};
  if (!makes_row(rows, cols, x, norm)) make_forms();
}

Fp8Rows OwnInput::fp8() const {
  fp8_.at_least(fp8_bytes(rows_, cols_));
  const Fp8Rows rows = fp8_rows_in(fp8_.data, rows_, cols_);
  if (!has_fp8_) round_to_fp8(queue_.handle(), bf16(), cols_, rows_, cols_, rows);
  has_fp8_ = true;
  return rows;
}

MatvecInput OwnInput::for_products() const {
  if (made_of_.x == nullptr) return for_matvec();
  return {.x = made_of_.x,
          .rows = rows_,
          .cols = cols_,
          .made = true,
          .norm = made_of_.norm,
          .eps = made_of_.eps};
}

void OwnInput::write_forms(const MadeOf& of) const {
  const Stream stream = queue_.handle();
  const auto normalise = [&](auto y) {
    rms_norm(stream, of.x, cols_, of.norm, of.eps, rows_, cols_, y);
  };
  if (of.norm != nullptr) return both_ ? normalise(forms()) : normalise(bf16());
  if (both_) return f32_to_product_rows(stream, of.x, rows_, cols_, forms());
  f32_to_bf16(stream, of.x, rows_ * cols_, bf16());
}

}  // namespace longhaul::cuda
