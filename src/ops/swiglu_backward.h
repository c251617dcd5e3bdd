#pragma once
// The gradient of the gated activation (swiglu.h).

#include <cstdint>

namespace longhaul {

/// From dy, the gradient with respect to y = silu(gate) * up, those with respect to gate and up:
///   d_gate = dy * up * s (1 + gate (1 - s)),  d_up = dy * gate * s,  s = 1 / (1 + e^-gate)
/// All `count` numbers; d_gate may be gate, d_up may be up.
void swiglu_backward(const float* gate, const float* up, const float* dy, int64_t count,
                     float* d_gate, float* d_up);

}  // namespace longhaul
