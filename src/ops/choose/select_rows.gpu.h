#pragma once
// The rows of lists that stay: select_rows() of ops/choose/select_rows.h on a CUDA device.

#include <span>

#include "ops/choose/select_phases.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

/// Queues all lists on `stream`, one block of threads for each. Addresses are the device's.
void select_rows(Stream stream, std::span<const SelectTask> tasks);

}  // namespace longhaul::cuda
