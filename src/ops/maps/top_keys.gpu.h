#pragma once
// Implements top_keys() of ops/maps/top_keys.h on a CUDA device.

#include <span>

#include "ops/attention/attend.gpu.h"
#include "ops/maps/score_scratch.gpu.h"
#include "ops/maps/top_keys.h"

namespace longhaul::cuda {

/// Computes top_keys() under the conditions of column_sums() (column_sums.gpu.h). Queries and keys
/// are rounded to bf16 for every value of `compute`. There is one exception: block-type keys are
/// multiplied as stored if no task has more than 8 pairs of a row and a head. `pages` is the range
/// that Hopper's copy engine can read. It is empty on other cards.
bool top_keys(Stream stream, const TopKeysCall& call, std::span<const TopKeysTask> tasks,
              const PageRange& pages, ScoreScratch& scratch);

}  // namespace longhaul::cuda
