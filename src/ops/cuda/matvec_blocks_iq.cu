// matvec kernels of the types with code books.

#include "ops/cuda/matvec_blocks.cuh"

namespace longhaul::cuda {

MatvecLaunch matvec_of_books(DType type, int64_t rows, int lanes) {
  return launch_among(UnitsOfBooks{}, type, rows, lanes);
}

}  // namespace longhaul::cuda
