// Products of 5 to 64 rows with types that have one scale for 32 weights.

#include "ops/matmul/row_tiles.cuh"

namespace longhaul::cuda {

TileForm tile_form_of_32(DType type, int64_t rows) {
  return tile_form_among<
      UnitsList<UnitsQ4_0, UnitsQ4_1, UnitsQ5_0, UnitsQ5_1, UnitsQ8_0, UnitsQ4_K, UnitsQ5_K>>(
      {}, type, rows);
}

}  // namespace longhaul::cuda
