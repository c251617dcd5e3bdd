#pragma once
// RoCo's operations (steady_phases.h) on a CUDA device. All addresses are device addresses.

#include <span>

#include "attention/methods/roco/steady_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

struct SeenColumn {
  float* numbers;
  int64_t count;
};
/// For every column, adds to numbers[i] how many of the last `rows` rows see row i of `count` rows.
void add_seen(Stream stream, int64_t rows, std::span<const SeenColumn> columns);

/// Uses one thread block per list.
void steady_scores(Stream stream, std::span<const SteadyTask> lists, ScoreScratch& scratch);

}  // namespace longhaul::cuda
