#pragma once
// Implements RoCo's operations (steady_phases.h) on a CUDA device. All addresses are device
// addresses.

#include <span>

#include "attention/methods/roco/steady_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

struct SeenColumn {
  float* numbers;
  int64_t count;
};
/// Adds to element i of every column the number of query rows that see key i. The query rows are
/// the last `rows` of the column's `count` rows, and visibility is causal.
void add_seen(Stream stream, int64_t rows, std::span<const SeenColumn> columns);

/// Starts one thread block per list.
void steady_scores(Stream stream, std::span<const SteadyTask> lists, ScoreScratch& scratch);

}  // namespace longhaul::cuda
