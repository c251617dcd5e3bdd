#pragma once

#include <cstdint>

namespace longhaul {

/// Returns a + b, or the largest number if the sum would overflow. It is for sizes from untrusted
/// files.
inline int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace longhaul
