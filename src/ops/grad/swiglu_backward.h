#pragma once
// The gradient of the gated activation SwiGLU (ops/core/swiglu.h).

#include <cstdint>

#include "base/array.h"

namespace longhaul {

/// Computes the gradients with respect to gate and up from dy, the gradient with respect to
/// y = silu(gate) * up:
///   d_gate = dy * up * s (1 + gate (1 - s)),  d_up = dy * gate * s,  s = 1 / (1 + e^-gate)
/// All arrays have the same size. d_gate may alias gate, and d_up may alias up.
void swiglu_backward(Queue& queue, View<const float> gate, View<const float> up,
                     View<const float> dy, View<float> d_gate, View<float> d_up);
inline const DeviceOperation<bool(View<const float> gate, View<const float> up,
                                  View<const float> dy, View<float> d_gate, View<float> d_up)>
    kSwigluBackward;

}  // namespace longhaul
