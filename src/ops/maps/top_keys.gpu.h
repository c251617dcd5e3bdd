#pragma once
// The keys that rows score highest: top_keys() of ops/maps/top_keys.h on a CUDA device.

#include <span>

#include "ops/attention/attend.gpu.h"
#include "ops/maps/score_scratch.gpu.h"
#include "ops/maps/top_keys.h"

namespace longhaul::cuda {

/// As column_sums() of this folder, for top_keys(): queries are rounded to bf16, whatever `compute`
/// says, and keys, unless up to 8 flat rows meet blocks, which are multiplied as they are stored.
/// `pages`: what Hopper's copy engine may read; empty on other cards.
bool top_keys(Stream stream, const TopKeysCall& call, std::span<const TopKeysTask> tasks,
              const PageRange& pages, ScoreScratch& scratch);

}  // namespace longhaul::cuda
