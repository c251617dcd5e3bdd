#pragma once
// Softmax maps summed over blocks of keys: block_mass() of ops/maps/block_mass.h on a CUDA device.

#include <span>

#include "ops/maps/block_mass.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// As column_sums() of this folder, for block_mass(): any head dimension that is a multiple of 16
/// (Q8_0: 32), pages of any power of two of rows, blocks of 8 keys or more. False also for keys
/// that are rotated on read.
bool block_mass(Stream stream, const AttendCall& call, std::span<const AttendTask> tasks, int block,
                std::span<const View<float>> masses, ScoreScratch& scratch);

}  // namespace longhaul::cuda
