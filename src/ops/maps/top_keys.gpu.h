#pragma once
// The highest-scoring keys of rows: top_keys() of ops/maps/top_keys.h on a CUDA device.

#include <span>

#include "ops/attention/attend.gpu.h"
#include "ops/maps/score_scratch.gpu.h"
#include "ops/maps/top_keys.h"

namespace longhaul::cuda {

/// Like column_sums() of this folder, for top_keys(). Queries are rounded to bf16, whatever
/// `compute` says. Keys are, too, except for up to 8 (row, head) rows over block-type keys, which
/// are multiplied as stored. `pages` are those that Hopper's copy engine can read; empty on other
/// cards.
bool top_keys(Stream stream, const TopKeysCall& call, std::span<const TopKeysTask> tasks,
              const PageRange& pages, ScoreScratch& scratch);

}  // namespace longhaul::cuda
