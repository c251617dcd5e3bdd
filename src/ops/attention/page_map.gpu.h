#pragma once
// Creates tensor maps of bf16 pages for Hopper's copy engine.

#include "ops/attention/attend.gpu.h"
#include "ops/attention/attend_kernels.gpu.h"

namespace longhaul::cuda {

/// Returns a tensor map of the pages. A box has `box_rows` rows (at most 64) and 64 columns.
PageMap page_map(const PageRange& pages, int head_dim, int box_rows);

}  // namespace longhaul::cuda
