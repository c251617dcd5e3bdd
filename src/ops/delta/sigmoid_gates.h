#pragma once
// Applies sigmoid gates to the outputs of sublayers, on the host or on a device:
// multiply_by_sigmoid() and add_gated() of ops/delta/delta_rule.h.

#include "base/array.h"

namespace longhaul {

/// Multiplies x[i] by sigmoid(gate[i]) for each i.
void multiply_by_sigmoid(Queue& queue, View<float> x, View<const float> gate);
inline const DeviceOperation<bool(View<float>, View<const float>)> kMultiplyBySigmoid;

/// Adds sigmoid(gate[r]) * x[r, i] to y[r, i]. x and y have gate.size() rows.
void add_gated(Queue& queue, View<float> y, View<const float> x, View<const float> gate);
inline const DeviceOperation<bool(View<float>, View<const float>, View<const float>)> kAddGated;

}  // namespace longhaul
