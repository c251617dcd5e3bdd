#pragma once
// Attention temperature scaling (Ministral 3). Queries are multiplied by a factor that grows with
// their position. As a result, attention over a long text stays as concentrated as over texts of
// the original training length.

#include <cstdint>

namespace longhaul {

/// The rule for the factor: at position p it is 1 + rate * ln(1 + floor(p / length)). It is thus 1
/// for p < length.
struct QueryGrowth {
  int64_t length = 1;
  float rate = 0;
};

/// Multiplies each row of x [rows, n] by its factor, in place. Row r has position first + r.
void grow_queries(float* x, int64_t rows, int64_t n, int64_t first, const QueryGrowth& growth);

}  // namespace longhaul
