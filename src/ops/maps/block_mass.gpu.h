#pragma once
// Implements block_mass() of ops/maps/block_mass.h on a CUDA device.

#include <span>

#include "ops/maps/block_mass.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Computes block_mass() under the conditions of column_sums() (column_sums.gpu.h). Head dimensions
/// must be multiples of 16 (Q8_0: 32). Pages may have any power of two of rows. Blocks must have at
/// least 8 keys. Also returns false if keys need RoPE on read.
bool block_mass(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks, int block,
                std::span<const View<float>> masses, ScoreScratch& scratch);

}  // namespace longhaul::cuda
