#pragma once
// Sums softmax maps over blocks of keys: block_mass() of ops/maps/block_mass.h on a CUDA device.

#include <span>

#include "ops/maps/block_mass.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Like column_sums() (column_sums.gpu.h), for block_mass(). Supports head dimensions that are
/// multiples of 16 (Q8_0: 32), pages with any power of two of rows, and blocks of at least 8 keys.
/// Also returns false for keys with RoPE on read.
bool block_mass(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks, int block,
                std::span<const View<float>> masses, ScoreScratch& scratch);

}  // namespace longhaul::cuda
