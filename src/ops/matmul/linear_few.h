#pragma once
// linear() for up to kMatvecMaxRows rows: the stored weights are read once, an adapter's beside
// them. For ops/matmul/linear.cc.

#include <span>

#include "ops/matmul/linear.h"

namespace longhaul {

/// y = x W^T + bias and what the jobs' adapters add to it; `add` is not looked at.
void linear_few(LinearInput& x, std::span<const LinearJob> jobs);

}  // namespace longhaul
