#pragma once
// Scratch memory of kernels. Each thread has its own.

#include <cstddef>

#include "base/buffer.h"

namespace longhaul {

/// Returns at least `bytes` bytes of memory of the calling thread, aligned for kernels. The memory
/// is valid until the thread calls the function again. Kernels that call each other must not both
/// use it.
inline std::byte* thread_scratch(size_t bytes) {
  thread_local Buffer<std::byte> buffer;
  if (buffer.size() < bytes) buffer.resize(bytes);
  return buffer.data();
}

}  // namespace longhaul
