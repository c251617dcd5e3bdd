#pragma once
// Attention temperature scaling (Ministral 3). Queries are multiplied by a factor that grows with
// their position. Attention over a long text thus stays as concentrated as at the original training
// length.

#include <cstdint>

namespace longhaul {

/// The rule for the factor. At position p it is 1 + rate * ln(1 + floor(p / length)). The factor is
/// 1 for p < length.
struct QueryGrowth {
  int64_t length = 1;
  float rate = 0;
};

/// Multiplies the rows of x [rows, n] by their factors in place. Row r has position first + r.
void grow_queries(float* x, int64_t rows, int64_t n, int64_t first, const QueryGrowth& growth);

}  // namespace longhaul
