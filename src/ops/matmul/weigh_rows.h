#pragma once
// Multiplies rows by the weights of their experts, for models in which an expert's weight
// multiplies its input and each row has one expert (Llama 4).

#include "base/array.h"

namespace longhaul {

/// Computes y[r] = sigmoid(max over e of logits[r, e]) * x[r]. x and y are [rows, n], and `logits`
/// is [rows, experts].
void weigh_rows(Queue& queue, View<const float> logits, View<const float> x, int64_t rows,
                View<float> y);
inline const DeviceOperation<bool(View<const float>, View<const float>, int64_t, View<float>)>
    kWeighRows;

}  // namespace longhaul
