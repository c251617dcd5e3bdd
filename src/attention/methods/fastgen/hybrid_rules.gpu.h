#pragma once
// Implements FastGen's rules (rule_phases.h) on a CUDA device. Addresses in tasks are device
// addresses.

#include <span>

#include "attention/methods/fastgen/rule_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Starts one thread block per list.
void judge_rules(Stream stream, std::span<const RuleTask> lists, ScoreScratch& scratch);

}  // namespace longhaul::cuda
