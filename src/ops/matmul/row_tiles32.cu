// Products of 5 to 64 rows with types that have one scale for 32 weights.

#include "ops/matmul/row_tiles.cuh"

namespace longhaul::cuda {

TileForm tile_form_of_32(DType type, int64_t rows) {
  return tile_form_among(UnitsOfTiles32{}, type, rows);
}

}  // namespace longhaul::cuda
