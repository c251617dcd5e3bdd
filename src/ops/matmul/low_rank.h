#pragma once
// Low-rank adapters of weight matrices (LoRA: Hu et al. 2021, arXiv:2106.09685).

#include <cstdint>
#include <vector>

#include "base/tensor_view.h"
#include "ops/matmul/packed_outputs.h"

namespace longhaul {

/// An adapter: adds (scale * (x A^T)) B^T to y = x W^T. If a matrix has several adapters, they are
/// concatenated: the rows of A, the columns of B, and the scales.
struct LowRank {
  TensorView a;              ///< [rank, cols]
  TensorView b;              ///< [outputs, rank]
  std::vector<float> scale;  ///< [rank]; empty if there is no adapter
  PackedOutputs packed_b;    ///< copy of b in the format that decoding reads

  bool empty() const { return scale.empty(); }
  int64_t rank() const { return static_cast<int64_t>(scale.size()); }
  size_t bytes() const { return empty() ? 0 : a.bytes() + b.bytes(); }
};

}  // namespace longhaul
