#pragma once
// Implements tile_maps() of attention/methods/ltri/tile_map.h on a CUDA device.

#include <span>

#include "attention/methods/ltri/tile_map.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Computes tile_maps() on the device. Returns false if the kernels do not support the call, under
/// the same conditions as column_sums() (ops/maps/maps.gpu.h). Heads are added in ascending order.
bool tile_maps(Stream stream, const AttendCall& call, std::span<const MapTile> tiles,
               ScoreScratch& scratch);

}  // namespace longhaul::cuda
