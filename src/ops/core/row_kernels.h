#pragma once
// Kernels that process one row on the calling thread. rms_norm.cc, swiglu.cc, soft_cap.cc and
// convert.cc call them in parallel for many rows.

#include <cstddef>
#include <cstdint>

#include "base/float_types.h"
#include "ops/core/isa/per_isa.h"
#include "ops/core/swiglu.h"

namespace longhaul {

struct RmsNormTable {
  void (*f32)(const float* x, const float* weight, float eps, int64_t n, float* y);
  void (*bf16)(const float* x, const float* weight, float eps, int64_t n, bf16_t* y);
};

struct SwigluTable {
  void (*f32)(const Gating& gating, const float* gate, const float* up, int64_t n, float* y);
  void (*bf16)(const Gating& gating, const float* gate, const float* up, int64_t n, bf16_t* y);
};

struct SoftCapTable {
  void (*f32)(float scale, float cap, int64_t n, float* x);
};

struct ConvertTable {
  void (*f32_to_bf16)(const float* x, int64_t count, bf16_t* y);
  void (*bf16_to_f32)(const bf16_t* x, int64_t count, float* y);
  void (*f32_to_f16)(const float* x, int64_t count, f16_t* y);
  void (*f16_to_f32)(const f16_t* x, int64_t count, float* y);
  void (*quantize_q8_0)(const float* x, int64_t count, std::byte* y);
  void (*quantize_q4_0)(const float* x, int64_t count, std::byte* y);
  void (*mix_blocks)(float* x, int64_t count);
};

LH_PER_ISA(RmsNormTable, kRmsNorm)
LH_PER_ISA(SwigluTable, kSwiglu)
LH_PER_ISA(SoftCapTable, kSoftCap)
LH_PER_ISA(ConvertTable, kConvert)

}  // namespace longhaul
