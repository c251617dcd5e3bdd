#pragma once
// Implements FastGen's operations (attention/methods/fastgen/hybrid_rules.h) on a CUDA device.
// Addresses in tasks are device addresses.

#include <span>

#include "attention/methods/fastgen/rule_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Runs the tasks, with one thread block per list.
void judge_rules(Stream stream, std::span<const RuleTask> lists, ScoreScratch& scratch);

}  // namespace longhaul::cuda
