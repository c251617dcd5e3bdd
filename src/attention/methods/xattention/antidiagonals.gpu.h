#pragma once
// Implements the steps of choose_antidiagonal_blocks()
// (attention/methods/xattention/antidiagonal_blocks.h) on a CUDA device, except block_mass()
// (ops/maps/block_mass.h).

#include <span>

#include "attention/methods/xattention/antidiagonal_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Writes the queries of each group of q [groups * stride, heads, head_dim] in reverse order to out
/// [groups, heads, stride, head_dim], in bf16. head_dim must be a multiple of 8.
void lay_out_groups(Stream stream, const float* q, int64_t groups, int stride, int heads,
                    int head_dim, uint16_t* out);

/// Selects blocks for all tasks, which must have equal groups and grids. The scratch arrays of a
/// task need not be set. `shares` must be in host memory.
void choose_antidiagonals(Stream stream, std::span<AntidiagonalTask> tasks, ScoreScratch& scratch);

}  // namespace longhaul::cuda
