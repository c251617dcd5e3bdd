#pragma once
// Sums of softmax maps over rows: column_sums() of ops/maps/column_sums.h on a CUDA device.

#include <span>

#include "ops/maps/column_sums.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Queues the tasks on `stream`. Returns false and does nothing if the kernels do not support the
/// call: head dimensions other than 64, 80, 96, 112, 128 and 256, or pages without a list in device
/// memory. Products are bf16 x bf16 with f32 sums for every value of `compute`. The order of all
/// additions depends on the shapes only.
bool column_sums(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks,
                 std::span<const ColumnTarget> targets, ScoreScratch& scratch);

}  // namespace longhaul::cuda
