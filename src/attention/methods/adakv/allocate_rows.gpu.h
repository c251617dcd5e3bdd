#pragma once
// Allocates a shared budget (allocation_phases.h) on a CUDA device. All addresses are device
// addresses.

#include <span>

#include "attention/methods/adakv/allocation_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Starts one thread block for all lists. The function sets task.lists.
void allocate_rows(Stream stream, BudgetTask task, std::span<const BudgetList> lists,
                   ScoreScratch& scratch);

}  // namespace longhaul::cuda
