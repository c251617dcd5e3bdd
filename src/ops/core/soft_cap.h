#pragma once
// Scaling and soft cap of logits (Gemma 2, arXiv:2408.00118, 2; Granite's division).

#include <cstdint>

namespace longhaul {

/// x[i] = scale * x[i], then cap * tanh(x[i] / cap) if cap > 0, in place.
void scale_and_cap(float* x, int64_t count, float scale, float cap);

}  // namespace longhaul
