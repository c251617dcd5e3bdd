#pragma once
// Minimum computation and memory reads of a model: the reference for measured speeds.

#include <cstddef>
#include <cstdint>

#include "model/model.h"

namespace longhaul {

struct ModelWork {
  int64_t layer_weights = 0;  ///< elements of all layers' matrices
  int64_t head_weights = 0;   ///< elements of the output matrix
  size_t weight_bytes = 0;    ///< stored size of all these: the bytes read per decoded token
};
ModelWork work_of(const Model& model);

/// Floating-point operations for the prefill of `rows` tokens after `begin` others, with logits for
/// the last row only: 2 per weight and row, 4 * head_dim per query head and pair.
double prefill_flops(const Model& model, int64_t begin, int64_t rows);

}  // namespace longhaul
