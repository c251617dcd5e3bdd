#pragma once
// The highest-scoring keys of rows: top_keys() of ops/maps/top_keys.h on a CUDA device.

#include <span>

#include "ops/attention/attend.gpu.h"
#include "ops/maps/score_scratch.gpu.h"
#include "ops/maps/top_keys.h"

namespace longhaul::cuda {

/// Like column_sums() (column_sums.gpu.h), for top_keys(). Queries are rounded to bf16 for every
/// value of `compute`. Keys are rounded to bf16 as well, except that block-type keys are multiplied
/// as stored if there are at most 8 (row, head) rows. `pages` are the pages that Hopper's copy
/// engine can read. It is empty on other cards.
bool top_keys(Stream stream, const TopKeysCall& call, std::span<const TopKeysTask> tasks,
              const PageRange& pages, ScoreScratch& scratch);

}  // namespace longhaul::cuda
