#pragma once
// A transposed weight matrix, for gradients: y = x W^T has dx = dy W, which is linear() of dy with
// W^T as the weight.

#include "base/buffer.h"
#include "base/tensor_view.h"
#include "ops/matmul/low_rank.h"

namespace longhaul {

class TransposedWeight {
 public:
  /// W^T [cols, outputs] of `weight` [outputs, cols], any stored type, in `type` (F32 or BF16). The
  /// product of the adapter `beside`, unless null, is added first. Returns view().
  const TensorView& assign(const TensorView& weight, const LowRank* beside, DType type);
  const TensorView& view() const { return view_; }  ///< valid until the next assign()

 private:
  Buffer<std::byte> memory_;
  TensorView view_;
};

}  // namespace longhaul
