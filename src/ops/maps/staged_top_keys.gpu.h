#pragma once
// top_keys() over keys that the copy engine of Hopper cards cannot read directly, such as Q8_0. The
// keys are first gathered into bf16 pages, as for attention. reattention then takes about 85 s to
// read 524,288 tokens on an H200. If each thread block gathers the keys itself, it takes 366 s.

#include <functional>
#include <span>

#include "ops/attention/staged_keys.gpu.h"
#include "ops/maps/top_keys.h"

namespace longhaul::cuda {

/// Returns whether gathering can help on a Hopper card. Only tiles of bf16 keys use the copy
/// engine.
bool can_stage_top_keys(const TopKeysCall& call, std::span<const TopKeysTask> tasks);

/// Passes all tasks to `search`, some at a time. Keys are gathered if that is faster, once for all
/// tasks over equal keys. Returns false if a call of `search` returned false.
bool stage_top_keys(StagedKeys& staged, const TopKeysCall& call, std::span<const TopKeysTask> tasks,
                    const std::function<bool(std::span<const TopKeysTask>)>& search);

}  // namespace longhaul::cuda
