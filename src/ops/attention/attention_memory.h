#pragma once
// What attention takes beside its operands: a part of the memory forecast.

#include <cstddef>

namespace longhaul {

/// Bytes of the kernels' working memory of many rows, on all threads.
size_t attention_scratch_bytes(int head_dim);

}  // namespace longhaul
