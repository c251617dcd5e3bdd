#pragma once
// add_weight() and most_weighted() of ops/blocks/block_votes.h on a CUDA device.

#include <cstdint>

#include "ops/choose/pair_phases.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// weights[chosen[i]] += weight, for numbers of which each is there once.
void add_weight(Stream stream, const int32_t* chosen, int64_t count, float weight, float* weights);

/// Addresses are the device's.
void most_weighted(Stream stream, const PairTask& task);

}  // namespace longhaul::cuda
