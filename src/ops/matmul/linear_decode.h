#pragma once
// Implements linear() for up to kMatvecMaxRows rows, and for any number of decode rows. The stored
// weights are read directly, and so are the weights of adapters. Only ops/matmul/linear.cc uses
// this file.

#include <span>

#include "ops/matmul/linear.h"

namespace longhaul {

/// Computes y = x W^T + bias plus the products of the jobs' adapters. Ignores `add` of the jobs.
void linear_decode(LinearInput& x, std::span<const LinearJob> jobs);

}  // namespace longhaul
