#pragma once
// The working memory of attention on the host, which the memory forecast includes.

#include <cstddef>

namespace longhaul {

/// Returns the size in bytes of the scratch memory that the prefill kernels of all threads need
/// together.
size_t attention_scratch_bytes(int head_dim);

}  // namespace longhaul
