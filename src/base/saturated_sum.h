#pragma once

#include <cstdint>

namespace longhaul {

/// Returns a + b, or INT64_MAX if the sum would overflow. Use it for sizes from untrusted files.
inline int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace longhaul
