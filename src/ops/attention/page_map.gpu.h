#pragma once
// Creates tensor maps of bf16 pages for the tensor memory accelerator (TMA) of Hopper GPUs.

#include "ops/attention/attend.gpu.h"
#include "ops/attention/attend_kernels.gpu.h"

namespace longhaul::cuda {

/// Returns the tensor map of the pages. With this map, the TMA copies boxes of `box_rows` rows (at
/// most 64) and 64 columns.
PageMap page_map(const PageRange& pages, int head_dim, int box_rows);

/// Returns a tensor map for wide heads. Page n of the map begins 256 * n bytes after the start of
/// the range, so that a page of keys may begin at any multiple of 256 bytes. If no such map is
/// possible, the base of the result is null.
PageMap wide_page_map(const PageRange& pages, int head_dim);

}  // namespace longhaul::cuda
