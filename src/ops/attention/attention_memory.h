#pragma once
// Working memory of attention, as a part of the memory forecast.

#include <cstddef>

namespace longhaul {

/// Bytes of the prefill kernels' working memory, for all threads.
size_t attention_scratch_bytes(int head_dim);

}  // namespace longhaul
