// matvec kernels of the types with blocks of 256.

#include "base/assert.h"
#include "ops/cuda/matvec_blocks.cuh"

namespace longhaul::cuda {

MatvecLaunch super_block_matvec(DType type, int64_t rows, int lanes) {
  switch (type) {
    case DType::Q2_K:
      return block_launch<UnitsQ2_K>(rows, lanes);
    case DType::Q3_K:
      return block_launch<UnitsQ3_K>(rows, lanes);
    case DType::Q4_K:
      return block_launch<UnitsQ4_K>(rows, lanes);
    case DType::Q5_K:
      return block_launch<UnitsQ5_K>(rows, lanes);
    case DType::Q6_K:
      return block_launch<UnitsQ6_K>(rows, lanes);
    default:
      LH_ASSERT(type == DType::IQ4_XS);
      return block_launch<UnitsIQ4_XS>(rows, lanes);
  }
}

}  // namespace longhaul::cuda
