#pragma once
// 1-D pooling of scores along the keys (SnapKV, arXiv:2404.14469).

#include "base/array.h"

namespace longhaul {

enum class Pooling : uint8_t { kAverage, kMax };

/// out[i]: the average or the maximum of the `width` (odd) scores around i. The average counts
/// places past the ends as zeros, the maximum ignores them. `out` is as long as `scores` and is
/// other memory.
void pool_scores(Queue& queue, View<const float> scores, int width, Pooling pooling,
                 View<float> out);

}  // namespace longhaul
