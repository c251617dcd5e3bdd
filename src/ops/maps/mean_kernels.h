#pragma once
// Interface between mean_keys.cc and the kernels of an instruction-set level.

#include "ops/attention/attention.h"
#include "ops/core/isa/per_isa.h"

namespace longhaul {

struct MeanKernels {
  /// Writes the mean of the stored keys [begin, end) to out [head_dim].
  void (*keys)(const PagedRows& rows, int64_t begin, int64_t end, float* out);
  /// Writes scale * query . means[b] to scores[b].
  void (*scores)(const float* query, const float* means, int64_t blocks, int head_dim, float scale,
                 float* scores);
};

LH_PER_ISA(MeanKernels, kMeanKernels)

}  // namespace longhaul
