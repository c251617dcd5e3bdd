#pragma once
// Judgements of rows (rule_phases.h) on a CUDA device. Addresses in tasks are the device's.

#include <span>

#include "ops/choose/rule_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// A block of threads for each list.
void steady_scores(Stream stream, std::span<const SteadyTask> lists, ScoreScratch& scratch);
void judge_rules(Stream stream, std::span<const RuleTask> lists, ScoreScratch& scratch);
/// One block for all lists, which `task` is yet to name.
void deal_rows(Stream stream, DealTask task, std::span<const DealtList> lists,
               ScoreScratch& scratch);

}  // namespace longhaul::cuda
