#pragma once
// Computes random scores for stored rows. The method that evicts rows by these scores is a baseline
// for other methods.

#include <cstdint>

#include "base/array.h"
#include "base/queue.h"

namespace longhaul {

/// Fills `scores` with numbers from 0 to 1. A row's score depends only on `seed` and the row's
/// index. It is therefore equal on every machine, and does not change when rows are appended.
void random_scores(Queue& queue, uint64_t seed, View<float> scores);

}  // namespace longhaul
