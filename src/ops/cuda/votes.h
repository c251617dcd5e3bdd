#pragma once
// Votes and spans: most_voted() and expand_spans() of ops/votes.h on a CUDA device.

#include "ops/cuda/stream.h"
#include "ops/cuda/vote_phases.h"

namespace longhaul::cuda {

/// Addresses are the device's.
void most_voted(Stream stream, const VoteTask& task);
void expand_spans(Stream stream, const ExpandTask& task);

}  // namespace longhaul::cuda
