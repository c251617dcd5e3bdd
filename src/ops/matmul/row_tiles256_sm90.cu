// Products of 5 to 64 rows on Hopper with types that have one scale for 16 weights.

#include "ops/matmul/row_tiles_sm90.cuh"

namespace longhaul::cuda {

TileForm tile_form_of_256_sm90(DType type, int64_t rows) {
  return tile_form_sm90_among(UnitsOfTiles256{}, type, rows);
}

}  // namespace longhaul::cuda
