#pragma once
// Computes the least number of operations and of bytes read that a model needs. Measured speeds are
// compared with the speeds that these numbers would permit.

#include <cstddef>
#include <cstdint>

#include "model/model.h"

namespace longhaul {

struct ModelWork {
  int64_t layer_weights = 0;  ///< number of elements of the weight matrices of all layers
  int64_t head_weights = 0;   ///< number of elements of the matrix that computes logits
  /// Stored size of all these matrices in bytes. All these matrices are read for each decoded
  /// token.
  size_t weight_bytes = 0;
};
ModelWork work_of(const Model& model);

/// Returns the number of floating-point operations of the prefill of `rows` tokens after `begin`
/// earlier tokens, with logits for the last token only. Each weight needs 2 operations per token.
/// Attention needs 4 * head_dim operations per query head and (query, key) pair.
double prefill_flops(const Model& model, int64_t begin, int64_t rows);

}  // namespace longhaul
