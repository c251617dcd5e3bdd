#pragma once
// Implements the operations of attention/methods/roco/steady_scores.h on a CUDA device. All
// addresses are device addresses.

#include <span>

#include "attention/methods/roco/steady_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// The column of one list: one number per stored row. A list holds the stored rows of one KV head.
struct SeenColumn {
  float* numbers;
  int64_t count;  ///< number of stored rows of the list
};
/// Adds to element i of each column the number of query rows that see stored row i. The query rows
/// belong to the last `rows` tokens of the list. Each of them sees the stored row of its own token
/// and all earlier stored rows.
void add_seen(Stream stream, int64_t rows, std::span<const SeenColumn> columns);

/// Computes the scores of the stored rows of every list, with one thread block per list.
void steady_scores(Stream stream, std::span<const SteadyTask> lists, ScoreScratch& scratch);

}  // namespace longhaul::cuda
