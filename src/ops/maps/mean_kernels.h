#pragma once
// Interface between mean_keys.cc and the kernels of an ISA level.

#include "ops/attention/attention.h"
#include "ops/core/isa/per_isa.h"

namespace longhaul {

struct MeanKernels {
  /// out [head_dim] = mean of the stored keys [begin, end).
  void (*keys)(const PagedRows& rows, int64_t begin, int64_t end, float* out);
  /// scores[b] = scale * query . means[b].
  void (*scores)(const float* query, const float* means, int64_t blocks, int head_dim, float scale,
                 float* scores);
};

LH_PER_ISA(MeanKernels, kMeanKernels)

}  // namespace longhaul
