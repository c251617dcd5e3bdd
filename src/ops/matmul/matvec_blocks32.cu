// matvec kernels for types with blocks of 32 and 64.

#include "ops/matmul/matvec_blocks.cuh"

namespace longhaul::cuda {

MatvecLaunch matvec_of_32(DType type, const MatvecWanted& wanted) {
  return launch_among(Units32{}, type, wanted);
}

}  // namespace longhaul::cuda
