#pragma once
// Launches the rules of rule_phases.h on a CUDA device. Addresses in tasks are device addresses.

#include <span>

#include "ops/choose/rule_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Starts one thread block per list.
void steady_scores(Stream stream, std::span<const SteadyTask> lists, ScoreScratch& scratch);
void judge_rules(Stream stream, std::span<const RuleTask> lists, ScoreScratch& scratch);
/// Starts one thread block for all lists. The function sets task.lists.
void deal_rows(Stream stream, DealTask task, std::span<const DealtList> lists,
               ScoreScratch& scratch);

}  // namespace longhaul::cuda
