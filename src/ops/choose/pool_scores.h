#pragma once
// Pools the scores of neighbouring keys: replaces each score by their average or maximum (SnapKV,
// arXiv:2404.14469).

#include "base/array.h"

namespace longhaul {

enum class Pooling : uint8_t { kAverage, kMax };

/// Sets out[i] to the average or the maximum of the `width` scores around score i. `width` is odd.
/// Positions beyond the ends count as zeros in averages and are ignored in maxima. `out` has the
/// size of `scores` and must not alias it.
void pool_scores(Queue& queue, View<const float> scores, int width, Pooling pooling,
                 View<float> out);
inline const DeviceOperation<bool(View<const float>, int width, Pooling, View<float> out)>
    kPoolScores;

}  // namespace longhaul
