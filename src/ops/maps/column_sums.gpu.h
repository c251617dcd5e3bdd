#pragma once
// Implements column_sums() of ops/maps/column_sums.h on a CUDA device.

#include <span>

#include "ops/maps/column_sums.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Queues the tasks on `stream`. Returns false and does nothing if the kernels do not support the
/// call. Supported head dimensions are 64, 80, 96, 112, 128 and 256, and lists of pages must be in
/// device memory. Products are bf16 x bf16 with f32 sums for every value of `compute`. The order of
/// additions depends only on the shapes.
bool column_sums(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks,
                 std::span<const ColumnTarget> targets, ScoreScratch& scratch);

}  // namespace longhaul::cuda
