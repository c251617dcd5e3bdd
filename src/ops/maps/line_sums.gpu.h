#pragma once
// Implements line_sums() of ops/maps/line_sums.h on a CUDA device.

#include <span>

#include "ops/maps/line_sums.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Computes line_sums() under the conditions of column_sums() (column_sums.gpu.h). Also returns
/// false if there are more than 2,048 rows.
bool line_sums(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks,
               std::span<const LineSums> sums, ScoreScratch& scratch);

}  // namespace longhaul::cuda
