#pragma once
// Working memory of attention, as a part of the memory forecast.

#include <cstddef>

namespace longhaul {

/// Returns the bytes of working memory of the prefill kernels on all threads.
size_t attention_scratch_bytes(int head_dim);

}  // namespace longhaul
