#pragma once
// Implements most_voted() and expand_spans() of attention/methods/reattention/votes.h on a CUDA
// device.

#include <span>

#include "attention/methods/reattention/vote_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// All addresses are device addresses. Each function processes all elements of its span in the same
/// launches. One thread block selects the numbers of an element, or lists its spans.
void most_voted(Stream stream, std::span<const VoteTask> votes, ScoreScratch& scratch);
void expand_spans(Stream stream, std::span<const ExpandTask> spans, ScoreScratch& scratch);

}  // namespace longhaul::cuda
