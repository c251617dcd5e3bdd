// matvec kernels of the types with blocks of 32 and 64.

#include "ops/cuda/matvec_blocks.cuh"

namespace longhaul::cuda {

MatvecLaunch matvec_of_32(DType type, int64_t rows, int lanes) {
  return launch_among(Units32{}, type, rows, lanes);
}

}  // namespace longhaul::cuda
