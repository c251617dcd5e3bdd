#pragma once
// The interface between mean_keys.cc and the kernels of the instruction-set levels.

#include "ops/attention/attention.h"
#include "ops/core/isa/per_isa.h"

namespace longhaul {

struct MeanKernels {
  /// Writes the mean of stored keys [begin, end) to out [head_dim].
  void (*keys)(const PagedRows& rows, int64_t begin, int64_t end, float* out);
  /// Sets scores[b] to scale * query . means[b] for each b < blocks.
  void (*scores)(const float* query, const float* means, int64_t blocks, int head_dim, float scale,
                 float* scores);
};

LH_PER_ISA(MeanKernels, kMeanKernels)

}  // namespace longhaul
