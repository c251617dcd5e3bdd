#pragma once
// Implements select_rows() of ops/choose/select_rows.h on a CUDA device.

#include <span>

#include "ops/choose/select_phases.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Queues the selections. Each has its own thread block. All addresses are device addresses.
void select_rows(Stream stream, std::span<const SelectTask> tasks);

}  // namespace longhaul::cuda
