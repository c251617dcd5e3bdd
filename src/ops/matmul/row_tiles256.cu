// Products of 5 to 64 rows with types that have one scale for 16 weights.

#include "ops/matmul/row_tiles.cuh"

namespace longhaul::cuda {

TileForm tile_form_of_256(DType type, int64_t rows) {
  return tile_form_among(UnitsOfTiles256{}, type, rows);
}

}  // namespace longhaul::cuda
