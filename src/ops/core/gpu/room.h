#pragma once
// Device memory that an operation reuses between calls.

#include <span>
#include <utility>

#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {

/// A device buffer that grows when necessary and never shrinks.
struct Room {
  explicit Room(GpuQueue& of) : queue(of) {}
  ~Room() {
    if (data != nullptr) queue.release(data);
  }
  void at_least(size_t bytes) {
    if (bytes <= size) return;
    if (data != nullptr) queue.release(std::exchange(data, nullptr));
    size = 0;  // remains 0 if allocate() throws
    data = queue.allocate(bytes);
    size = bytes;
  }
  /// Copies `numbers` to device memory. The returned address is valid until the next upload.
  template <class T>
  const T* upload(std::span<const T> numbers) {
    at_least(numbers.size_bytes());
    queue.upload(numbers.data(), data, numbers.size_bytes());
    return static_cast<const T*>(data);
  }

  GpuQueue& queue;
  void* data = nullptr;
  size_t size = 0;
};

}  // namespace longhaul::cuda
