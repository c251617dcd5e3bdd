#pragma once
// tile_maps() of ops/maps/tile_map.h on a CUDA device.

#include <span>

#include "ops/maps/score_scratch.gpu.h"
#include "ops/maps/tile_map.h"

namespace longhaul::cuda {

/// Computes tile_maps() under the conditions of column_sums() (column_sums.gpu.h). Heads are added
/// in ascending order.
bool tile_maps(Stream stream, const AttendCall& call, std::span<const MapTile> tiles,
               ScoreScratch& scratch);

}  // namespace longhaul::cuda
