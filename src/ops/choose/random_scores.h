#pragma once
// Scores that rank rows at random, as a baseline of methods that evict.

#include <cstdint>

#include "base/array.h"
#include "base/queue.h"

namespace longhaul {

/// Fills `scores` with numbers from 0 to 1. A row's score depends on `seed` and its index alone, so
/// it is the same on every machine, and when the list grows.
void random_scores(Queue& queue, uint64_t seed, View<float> scores);

}  // namespace longhaul
