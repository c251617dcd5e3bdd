#pragma once
// Interface between packed_outputs.cc and the kernels of an instruction-set level.

#include <cstdint>

#include "ops/core/isa/per_isa.h"
#include "ops/matmul/matvec.h"

namespace longhaul {

struct LowRankKernels {
  /// Adds B t to y for up to 16 outputs. `blocks` (packed_outputs.h) has one block for each 32
  /// elements of the rank. `groups` is t in int8.
  void (*add)(const uint8_t* blocks, int64_t rank_blocks, const ActivationGroup* groups, float* y,
              int outputs);
};

LH_PER_ISA(LowRankKernels, kLowRank)

}  // namespace longhaul
