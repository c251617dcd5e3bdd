#pragma once
// What a model must compute and read at least: the yardstick for measured speeds.

#include <cstddef>
#include <cstdint>

#include "model/model.h"

namespace longhaul {

struct ModelWork {
  int64_t layer_weights = 0;  ///< elements of all layers' matrices
  int64_t head_weights = 0;   ///< elements of the output matrix
  size_t weight_bytes = 0;    ///< of all these as stored: what one decoded token reads
};
ModelWork work_of(const Model& model);

/// Floating-point operations of reading `rows` tokens after `begin` others, logits of the last row
/// only: 2 a weight and row, 4 * head_dim a query head and pair.
double prefill_flops(const Model& model, int64_t begin, int64_t rows);

}  // namespace longhaul
