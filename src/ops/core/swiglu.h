#pragma once
// Gated activations of the feed-forward layer (Shazeer 2020, arXiv:2002.05202).

#include <cstdint>

#include "base/float_types.h"

namespace longhaul {

/// Parameters of the activation gated(g, u) = g * sigmoid(slope * (g + cubic * g^3)) * (u + shift).
/// If `limit` is positive, g is first limited to at most `limit`, and u to the range [-limit,
/// limit]. sigmoid(s) is 1 / (1 + e^-s). The default parameters yield SwiGLU: silu(g) * u.
struct Gating {
  float slope = 1;
  float cubic = 0;
  float limit = 0;  ///< limit of g and u; 0: no limit
  float shift = 0;

  bool operator==(const Gating&) const = default;
};
/// The activation of GELU in its tanh form (Hendrycks and Gimpel 2016, arXiv:1606.08415). gated()
/// can express it, because 0.5 * (1 + tanh(x)) equals sigmoid(2 * x).
inline constexpr Gating kGeluGating = {.slope = 1.5957691216f, .cubic = 0.044715f};
/// The activation of gpt-oss (arXiv:2508.10925; `swiglu_limit` in its config.json).
inline constexpr Gating kClampedGating = {.slope = 1.702f, .limit = 7, .shift = 1};
/// With this activation, gated(x, x) is max(x, 0)^2: the sigmoid is 1 for positive and 0 for
/// negative x. Experts without a gate use it on devices (DeviceExperts).
inline constexpr Gating kSquaredReluGating = {.slope = 1e30f};

/// Computes y[r, i] = gated(gate[r, i], up[r, i]). y is a contiguous array [rows, n]. Row r of gate
/// begins at gate + r * stride, and row r of up at up + r * stride. stride may exceed n, so that
/// gate and up can be ranges of columns of the result of one fused projection. If stride equals n,
/// y may alias gate or up.
void swiglu(const float* gate, const float* up, int64_t rows, int64_t n, int64_t stride, float* y,
            const Gating& gating = {});
void swiglu(const float* gate, const float* up, int64_t rows, int64_t n, int64_t stride, bf16_t* y,
            const Gating& gating = {});

}  // namespace longhaul
