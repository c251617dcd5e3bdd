#pragma once
// linear() for up to kMatvecMaxRows rows and for any number of decode rows: the stored weights are
// streamed, and an adapter's weights beside them. For ops/matmul/linear.cc.

#include <span>

#include "ops/matmul/linear.h"

namespace longhaul {

/// y = x W^T + bias + the products of the jobs' adapters. Ignores `add`.
void linear_decode(LinearInput& x, std::span<const LinearJob> jobs);

}  // namespace longhaul
