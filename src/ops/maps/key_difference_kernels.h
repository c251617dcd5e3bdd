#pragma once
// What key_difference.cc hands to the kernels of an ISA level.

#include "ops/attention/attention_kernels.h"

namespace longhaul {

struct KeyDifferenceKernels {
  /// Of stored keys [begin, begin + count): their lengths, and the sum of their directions, which
  /// is added to sum [head_dim]. A key of length 0 has none.
  void (*add_directions)(const PagedRows& rows, int64_t begin, int64_t count, double* sum,
                         float* lengths);
  /// products[i] = key[begin + i] . vector.
  void (*products)(const PagedRows& rows, int64_t begin, int64_t count, const float* vector,
                   float* products);
};

LH_PER_ISA(KeyDifferenceKernels, kKeyDifferenceKernels)

}  // namespace longhaul
