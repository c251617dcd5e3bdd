#pragma once
// Attention temperature scaling (Ministral 3). Queries are scaled up with their position, so that
// attention over a long text stays as concentrated as at the original training length.

#include <cstdint>

namespace longhaul {

/// Rule for the factor of a query at position p: 1 + rate * ln(1 + floor(p / length)). The factor
/// is 1 for p < length.
struct QueryGrowth {
  int64_t length = 1;
  float rate = 0;
};

/// Scales x [rows, n] in place, with row r at position first + r.
void grow_queries(float* x, int64_t rows, int64_t n, int64_t first, const QueryGrowth& growth);

}  // namespace longhaul
