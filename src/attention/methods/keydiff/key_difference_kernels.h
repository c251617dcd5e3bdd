#pragma once
// Interface between key_difference.cc and the kernels of an instruction-set level.

#include "ops/attention/attention_kernels.h"

namespace longhaul {

struct KeyDifferenceKernels {
  /// Writes the lengths of the stored keys [begin, begin + count) to `lengths`, and adds the sum of
  /// their directions to sum [head_dim]. A key of length 0 has no direction.
  void (*add_directions)(const PagedRows& rows, int64_t begin, int64_t count, double* sum,
                         float* lengths);
  /// Computes products[i] = key[begin + i] . vector.
  void (*products)(const PagedRows& rows, int64_t begin, int64_t count, const float* vector,
                   float* products);
};

LH_PER_ISA(KeyDifferenceKernels, kKeyDifferenceKernels)

}  // namespace longhaul
