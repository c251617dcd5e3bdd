#pragma once
// Implements most_voted() and expand_spans() of attention/methods/reattention/votes.h on a CUDA
// device.

#include <span>

#include "attention/methods/reattention/vote_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// All addresses are device addresses. Each function processes all its items together and uses one
/// thread block to choose or expand each item.
void most_voted(Stream stream, std::span<const VoteTask> votes, ScoreScratch& scratch);
void expand_spans(Stream stream, std::span<const ExpandTask> spans, ScoreScratch& scratch);

}  // namespace longhaul::cuda
