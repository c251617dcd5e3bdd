#pragma once
// Transposes a weight matrix for the computation of gradients. The gradient with respect to x of
// y = x W^T is dy W, which is linear() of dy with the weight W^T.

#include "base/buffer.h"
#include "base/tensor_view.h"
#include "ops/matmul/low_rank.h"

namespace longhaul {

class TransposedWeight {
 public:
  /// Sets the matrix to the transpose [cols, outputs] of `weight` [outputs, cols], stored in `type`
  /// (F32 or BF16), and returns view(). `weight` may have any stored type. If `beside` is not null,
  /// the weight change of this adapter (B A, scaled) is first added to the weight.
  const TensorView& assign(const TensorView& weight, const LowRank* beside, DType type);
  /// Returns the transposed matrix, which is valid until the next assign().
  const TensorView& view() const { return view_; }

 private:
  Buffer<std::byte> memory_;
  TensorView view_;
};

}  // namespace longhaul
