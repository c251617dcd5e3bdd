#pragma once
// Random scores, as a baseline for eviction methods.

#include <cstdint>

#include "base/array.h"
#include "base/queue.h"

namespace longhaul {

/// Fills `scores` with numbers from 0 to 1. A row's score depends only on `seed` and the row's
/// index. It is therefore the same on every machine, and does not change when the list grows.
void random_scores(Queue& queue, uint64_t seed, View<float> scores);

}  // namespace longhaul
