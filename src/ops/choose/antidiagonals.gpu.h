#pragma once
// What choose_antidiagonal_blocks() of ops/choose/antidiagonal_blocks.h does beside block_mass(),
// on a CUDA device.

#include <span>

#include "ops/choose/antidiagonal_phases.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// out [groups, heads, stride, head_dim] in bf16: the rows of each group of q [groups * stride,
/// heads, head_dim], the last first. head_dim is a multiple of 8.
void lay_out_groups(Stream stream, const float* q, int64_t groups, int stride, int heads,
                    int head_dim, uint16_t* out);

/// All tasks are of the same groups and grid; scratch need not be filled in, and `shares` is host
/// memory.
void choose_antidiagonals(Stream stream, std::span<AntidiagonalTask> tasks, ScoreScratch& scratch);

}  // namespace longhaul::cuda
