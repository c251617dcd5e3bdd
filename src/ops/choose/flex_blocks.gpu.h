#pragma once
// choose_flex_blocks() of ops/choose/flex_blocks.h on a CUDA device.

#include <span>

#include "ops/choose/flex_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Addresses are the device's; what is scratch of `heads` need not be filled in.
void choose_flex_blocks(Stream stream, const FlexCall& call, std::span<FlexHeadTask> heads,
                        ScoreScratch& scratch);

}  // namespace longhaul::cuda
