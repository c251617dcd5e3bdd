#pragma once
// top_keys() over keys that the copy engine of Hopper cards cannot read as they lie, such as those
// in Q8_0: they are gathered into bf16 pages first, as attention's are. Blocks that gather for
// themselves took 366 s instead of about 85 to read 524,288 tokens with reattention on an H200.

#include <functional>
#include <span>

#include "ops/attention/staged_keys.gpu.h"
#include "ops/maps/top_keys.h"

namespace longhaul::cuda {

/// Whether gathering can help on a Hopper card: only tiles of bf16 keys go through its copy engine.
bool can_stage_top_keys(const TopKeysCall& call, std::span<const TopKeysTask> tasks);

/// Hands all tasks to `search`, some at a time, with their keys gathered where that pays: once for
/// all tasks over the same keys. False where one of its calls returned that.
bool stage_top_keys(StagedKeys& staged, const TopKeysCall& call, std::span<const TopKeysTask> tasks,
                    const std::function<bool(std::span<const TopKeysTask>)>& search);

}  // namespace longhaul::cuda
