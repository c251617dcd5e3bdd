#pragma once
// Pools the scores of neighbouring keys (SnapKV, arXiv:2404.14469).

#include "base/array.h"

namespace longhaul {

enum class Pooling : uint8_t { kAverage, kMax };

/// Writes the average or the maximum of the `width` (odd) scores around i to out[i]. Beyond the
/// ends, an average counts zeros, and a maximum ignores the positions. `out` has the size of
/// `scores` and must not alias it.
void pool_scores(Queue& queue, View<const float> scores, int width, Pooling pooling,
                 View<float> out);
inline const DeviceOperation<bool(View<const float>, int width, Pooling, View<float> out)>
    kPoolScores;

}  // namespace longhaul
