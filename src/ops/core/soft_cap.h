#pragma once
// Scaling and soft cap of logits (Gemma 2, arXiv:2408.00118, 2; Granite's division).

#include <cstdint>

namespace longhaul {

/// Multiplies x[i] by `scale` in place. If cap > 0, x[i] then becomes cap * tanh(x[i] / cap).
void scale_and_cap(float* x, int64_t count, float scale, float cap);

}  // namespace longhaul
