#pragma once
// top_keys() over keys that the copy engine of Hopper cards cannot read directly, such as Q8_0.
// They are first gathered into bf16 pages, as for attention. With thread blocks that gather for
// themselves, reattention took 366 s instead of about 85 to read 524,288 tokens on an H200.

#include <functional>
#include <span>

#include "ops/attention/staged_keys.gpu.h"
#include "ops/maps/top_keys.h"

namespace longhaul::cuda {

/// Whether gathering can help on a Hopper card: only tiles of bf16 keys use its copy engine.
bool can_stage_top_keys(const TopKeysCall& call, std::span<const TopKeysTask> tasks);

/// Passes all tasks to `search`, some at a time. Keys are gathered if that is faster, once for all
/// tasks over equal keys. Returns false if a call of `search` did.
bool stage_top_keys(StagedKeys& staged, const TopKeysCall& call, std::span<const TopKeysTask> tasks,
                    const std::function<bool(std::span<const TopKeysTask>)>& search);

}  // namespace longhaul::cuda
