// matvec kernels of the types with blocks of 32 and 64.

#include "base/assert.h"
#include "ops/cuda/matvec_blocks.cuh"

namespace longhaul::cuda {

MatvecLaunch block_matvec(DType type, int64_t rows, int lanes) {
  switch (type) {
    case DType::Q4_0:
      return block_launch<UnitsQ4_0>(rows, lanes);
    case DType::Q4_1:
      return block_launch<UnitsQ4_1>(rows, lanes);
    case DType::Q5_0:
      return block_launch<UnitsQ5_0>(rows, lanes);
    case DType::Q5_1:
      return block_launch<UnitsQ5_1>(rows, lanes);
    case DType::Q8_0:
      return block_launch<UnitsQ8_0>(rows, lanes);
    case DType::MXFP4:
      return block_launch<UnitsMXFP4>(rows, lanes);
    case DType::NVFP4:
      return block_launch<UnitsNVFP4>(rows, lanes);
    default:
      LH_ASSERT(type == DType::IQ4_NL);
      return block_launch<UnitsIQ4_NL>(rows, lanes);
  }
}

}  // namespace longhaul::cuda
