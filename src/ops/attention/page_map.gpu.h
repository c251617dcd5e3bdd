#pragma once
// Pages of bf16 keys and values for the copy engine of Hopper.

#include "ops/attention/attend.gpu.h"
#include "ops/attention/attend_kernels.gpu.h"

namespace longhaul::cuda {

/// A map whose boxes have `box_rows` rows (at most 64) and 64 columns.
PageMap page_map(const PageRange& pages, int head_dim, int box_rows);

}  // namespace longhaul::cuda
