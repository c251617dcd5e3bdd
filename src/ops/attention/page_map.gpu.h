#pragma once
// Creates tensor maps of bf16 pages for Hopper's copy engine.

#include "ops/attention/attend.gpu.h"
#include "ops/attention/attend_kernels.gpu.h"

namespace longhaul::cuda {

/// Returns a tensor map of the pages. A box has `box_rows` rows (at most 64) and 64 columns.
PageMap page_map(const PageRange& pages, int head_dim, int box_rows);

/// Returns the map of pages that begin at any multiple of 256 bytes, for wide heads. Entry n of the
/// map is the page that begins 256 * n bytes after the start of the range. The base of the map is
/// null if there is no such map.
PageMap wide_page_map(const PageRange& pages, int head_dim);

}  // namespace longhaul::cuda
