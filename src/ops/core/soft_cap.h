#pragma once
// Multiplies logits by a scale and limits them by a soft cap (Gemma 2, arXiv:2408.00118, section
// 2). Granite models use only the scale.

#include <cstdint>

namespace longhaul {

/// Multiplies x[i] by `scale` in place. If cap > 0, x[i] then becomes cap * tanh(x[i] / cap).
void scale_and_cap(float* x, int64_t count, float scale, float cap);

}  // namespace longhaul
