#pragma once
// The gradient of the gated activation (swiglu.h).

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// From dy, the gradient with respect to y = silu(gate) * up, those with respect to gate and up:
///   d_gate = dy * up * s (1 + gate (1 - s)),  d_up = dy * gate * s,  s = 1 / (1 + e^-gate)
/// All of one size; d_gate may be gate, d_up may be up.
void swiglu_backward(Queue& queue, View<const float> gate, View<const float> up,
                     View<const float> dy, View<float> d_gate, View<float> d_up);

}  // namespace longhaul
