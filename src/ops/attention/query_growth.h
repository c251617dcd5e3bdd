#pragma once
// Queries that grow with their position (Ministral 3), so that attention over a long text stays as
// pointed as over one of the length that the model was trained with first.

#include <cstdint>

namespace longhaul {

/// A query at position p times 1 + rate * ln(1 + floor(p / length)): 1 within the first `length`.
struct QueryGrowth {
  int64_t length = 1;
  float rate = 0;
};

/// x [rows, n], row r at position first + r, in place.
void grow_queries(float* x, int64_t rows, int64_t n, int64_t first, const QueryGrowth& growth);

}  // namespace longhaul
