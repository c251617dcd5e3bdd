#pragma once

#include <cstdint>

namespace longhaul {

/// a + b of sizes that strangers name; the largest number where the sum is larger.
inline int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace longhaul
