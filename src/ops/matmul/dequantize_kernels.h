#pragma once
// The functions of dequantize.h for one instruction-set level.

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"
#include "base/float_types.h"
#include "ops/core/isa/per_isa.h"

namespace longhaul {

struct DequantizeKernels {
  using ToF32 = void (*)(const std::byte* src, int64_t count, float* dst);
  using ToBf16 = void (*)(const std::byte* src, int64_t count, bf16_t* dst);
  ToF32 to_f32[kDTypeCount];  ///< one function per DType
  ToBf16 to_bf16[kDTypeCount];
};

LH_PER_ISA(DequantizeKernels, kDequantize)

}  // namespace longhaul
