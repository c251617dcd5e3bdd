#pragma once
// Parts of softmax maps, summed over heads: tile_maps() of ops/maps/tile_map.h on a CUDA device.

#include <span>

#include "ops/maps/score_scratch.gpu.h"
#include "ops/maps/tile_map.h"

namespace longhaul::cuda {

/// Like column_sums() (column_sums.gpu.h), for tile_maps(). Heads are summed in ascending order.
bool tile_maps(Stream stream, const AttendCall& call, std::span<const MapTile> tiles,
               ScoreScratch& scratch);

}  // namespace longhaul::cuda
