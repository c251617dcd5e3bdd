#pragma once
// Returns the working memory of attention for the memory forecast.

#include <cstddef>

namespace longhaul {

/// Returns the bytes of working memory that the prefill kernels need on all threads together.
size_t attention_scratch_bytes(int head_dim);

}  // namespace longhaul
