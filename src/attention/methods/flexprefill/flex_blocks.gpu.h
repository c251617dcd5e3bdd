#pragma once
// Implements choose_flex_blocks() of attention/methods/flexprefill/flex_blocks.h on a CUDA device.

#include <span>

#include "attention/methods/flexprefill/flex_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Selects blocks for all heads. All addresses are device addresses. The scratch arrays in `heads`
/// need not be set.
void choose_flex_blocks(Stream stream, const FlexCall& call, std::span<FlexHeadTask> heads,
                        ScoreScratch& scratch);

}  // namespace longhaul::cuda
