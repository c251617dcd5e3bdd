#pragma once
// Device parts of choose_antidiagonal_blocks() of ops/choose/antidiagonal_blocks.h that are not
// block_mass().

#include <span>

#include "ops/choose/antidiagonal_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Writes to out [groups, heads, stride, head_dim] in bf16 the rows of each group of q [groups *
/// stride, heads, head_dim], the group's last row first. head_dim is a multiple of 8.
void lay_out_groups(Stream stream, const float* q, int64_t groups, int stride, int heads,
                    int head_dim, uint16_t* out);

/// All tasks have equal groups and grids. Scratch need not be initialised. `shares` is host memory.
void choose_antidiagonals(Stream stream, std::span<AntidiagonalTask> tasks, ScoreScratch& scratch);

}  // namespace longhaul::cuda
