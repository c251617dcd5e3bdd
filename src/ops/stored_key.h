#pragma once
// One key of a list as f32, for operations that gather single rows.

#include "ops/attention.h"

namespace longhaul {

/// key [head_dim] of row `row`, whose page is in memory.
void read_key(const PagedRows& rows, int64_t row, float* key);

}  // namespace longhaul
