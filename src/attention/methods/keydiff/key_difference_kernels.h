#pragma once
// The CPU kernels of KeyDiff, which are compiled once per instruction set. key_difference.cc calls
// them.

#include "ops/attention/attention_kernels.h"

namespace longhaul {

struct KeyDifferenceKernels {
  /// Writes the norms of the stored keys [begin, begin + count) to `lengths`, and adds key / norm
  /// of each of them to sum [head_dim]. Keys with norm 0 are not added.
  void (*add_directions)(const PagedRows& rows, int64_t begin, int64_t count, double* sum,
                         float* lengths);
  /// Writes the dot products key[begin + i] . vector to products[i].
  void (*products)(const PagedRows& rows, int64_t begin, int64_t count, const float* vector,
                   float* products);
};

LH_PER_ISA(KeyDifferenceKernels, kKeyDifferenceKernels)

}  // namespace longhaul
