#pragma once
// The interface between packed_outputs.cc and the kernels of the instruction-set levels.

#include <cstdint>

#include "ops/core/isa/per_isa.h"
#include "ops/matmul/matvec.h"

namespace longhaul {

struct LowRankKernels {
  /// Adds B t to y for up to 16 outputs (low_rank.h). t is one row of scale * (x A^T), and `groups`
  /// holds it in int8. `blocks` holds the rows of B of these outputs, as rank_blocks blocks of 32
  /// elements of the rank (packed_outputs.h).
  void (*add)(const uint8_t* blocks, int64_t rank_blocks, const ActivationGroup* groups, float* y,
              int outputs);
};

LH_PER_ISA(LowRankKernels, kLowRank)

}  // namespace longhaul
