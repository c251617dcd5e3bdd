#pragma once
// Implements add_weight() and most_weighted() of attention/methods/ltri/block_votes.h on a CUDA
// device.

#include <cstdint>

#include "attention/methods/ltri/pair_phases.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Adds `weight` to weights[chosen[i]] for each i below `count`. No number may occur twice in
/// `chosen`.
void add_weight(Stream stream, const int32_t* chosen, int64_t count, float weight, float* weights);

/// Selects the blocks with the largest weights. All addresses are device addresses.
void most_weighted(Stream stream, const PairTask& task);

}  // namespace longhaul::cuda
