#pragma once
// Working memory of kernels.

#include <cstddef>

#include "base/buffer.h"

namespace longhaul {

/// At least `bytes` bytes of the calling thread's own, aligned for kernels; valid until its next
/// call. One kernel at a time holds it.
inline std::byte* thread_scratch(size_t bytes) {
  thread_local Buffer<std::byte> buffer;
  if (buffer.size() < bytes) buffer.resize(bytes);
  return buffer.data();
}

}  // namespace longhaul
