#pragma once
// Computes top_keys() over keys that the tensor memory accelerator (TMA) of Hopper GPUs cannot read
// directly, such as Q8_0. The keys are first gathered into bf16 pages, as for attention. Prefill of
// 524,288 tokens with the method reattention then takes about 85 s on an H200. If each thread block
// converts the keys itself, the prefill takes 366 s.

#include <functional>
#include <span>

#include "ops/attention/staged_keys.gpu.h"
#include "ops/maps/top_keys.h"

namespace longhaul::cuda {

/// Returns whether gathering may make the call faster. This is possible only on Hopper cards, and
/// only with TopRule::kTile, because only this search uses the TMA.
bool can_stage_top_keys(const TopKeysCall& call, std::span<const TopKeysTask> tasks);

/// Passes all tasks to `search`, possibly in several calls. Keys are gathered first if that is
/// faster, once for all tasks with the same keys. Returns false if any call of `search` returned
/// false.
bool stage_top_keys(StagedKeys& staged, const TopKeysCall& call, std::span<const TopKeysTask> tasks,
                    const std::function<bool(std::span<const TopKeysTask>)>& search);

}  // namespace longhaul::cuda
