#pragma once
// Working memory of kernels.

#include <cstddef>

#include "base/buffer.h"

namespace longhaul {

/// Returns at least `bytes` bytes of thread-local memory, aligned for kernels and valid until the
/// thread's next call. Only one kernel at a time may use it.
inline std::byte* thread_scratch(size_t bytes) {
  thread_local Buffer<std::byte> buffer;
  if (buffer.size() < bytes) buffer.resize(bytes);
  return buffer.data();
}

}  // namespace longhaul
