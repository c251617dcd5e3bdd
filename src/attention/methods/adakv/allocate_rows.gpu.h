#pragma once
// Divides a budget of rows among lists on a CUDA device (attention/methods/adakv/allocate_rows.h).
// All addresses are device addresses.

#include <span>

#include "attention/methods/adakv/allocation_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Starts one thread block, which processes all lists. task.lists need not be set.
void allocate_rows(Stream stream, BudgetTask task, std::span<const BudgetList> lists,
                   ScoreScratch& scratch);

}  // namespace longhaul::cuda
