// matvec kernels for types with blocks of 256.

#include "ops/matmul/matvec_blocks.cuh"

namespace longhaul::cuda {

MatvecLaunch matvec_of_256(DType type, const MatvecWanted& wanted) {
  return launch_among(Units256{}, type, wanted);
}

}  // namespace longhaul::cuda
