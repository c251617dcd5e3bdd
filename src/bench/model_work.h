#pragma once
// The minimum computation and memory reads of a model. Measured speeds are compared with them.

#include <cstddef>
#include <cstdint>

#include "model/model.h"

namespace longhaul {

struct ModelWork {
  int64_t layer_weights = 0;  ///< elements of the matrices of all layers
  int64_t head_weights = 0;   ///< elements of the output matrix
  /// Stored size of all these matrices, which are read for each decoded token.
  size_t weight_bytes = 0;
};
ModelWork work_of(const Model& model);

/// Returns the floating-point operations of the prefill of `rows` tokens after `begin` others, with
/// logits for the last row only. There are 2 operations per weight and row, and 4 * head_dim per
/// query head and attention pair.
double prefill_flops(const Model& model, int64_t begin, int64_t rows);

}  // namespace longhaul
