#pragma once
// Implements linear() for up to kMatvecMaxRows rows, and for any number of decode rows. It reads
// the stored weights and the adapters directly, without converting them first. Only
// ops/matmul/linear.cc uses this file.

#include <span>

#include "ops/matmul/linear.h"

namespace longhaul {

/// Computes y = x W^T + bias for each job, and adds the product of the job's adapter. Ignores
/// LinearJob::add, which linear() implements.
void linear_decode(LinearInput& x, std::span<const LinearJob> jobs);

}  // namespace longhaul
