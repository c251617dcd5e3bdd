// matvec kernels for types with code books.

#include "ops/matmul/matvec_blocks.cuh"

namespace longhaul::cuda {

MatvecLaunch matvec_of_books(DType type, const MatvecWanted& wanted) {
  return launch_among(UnitsOfBooks{}, type, wanted);
}

}  // namespace longhaul::cuda
