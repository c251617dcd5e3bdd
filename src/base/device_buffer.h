#pragma once
// DeviceBuffer owns device memory and reuses it when the size changes. Buffer (base/buffer.h) is
// its counterpart on the host.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/device_queue.h"

namespace longhaul {

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  ~DeviceBuffer() { reset(); }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : queue_(std::move(other.queue_)),
        memory_(std::exchange(other.memory_, nullptr)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(queue_, other.queue_);
    std::swap(memory_, other.memory_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }

  /// Returns memory of at least `bytes` bytes. The contents are lost if the buffer must grow, or if
  /// its memory belongs to another queue.
  void* resize(const std::shared_ptr<DeviceQueue>& queue, size_t bytes) {
    if (queue != queue_ || bytes > capacity_) {
      reset();
      // Allocates a quarter more than needed. Otherwise an array that grows by one row per token,
      // such as stored keys, would be reallocated for every token.
      const size_t room = std::max(bytes, size_t{256}) + bytes / 4;
      memory_ = queue->allocate(room);
      queue_ = queue;
      capacity_ = room;
    }
    return memory_;
  }

  void reset() {
    if (memory_ != nullptr) queue_->release(memory_);
    memory_ = nullptr;
    queue_.reset();
    capacity_ = 0;
  }

  void* data() const { return memory_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return memory_ == nullptr; }
  const std::shared_ptr<DeviceQueue>& queue() const { return queue_; }

 private:
  std::shared_ptr<DeviceQueue> queue_;
  void* memory_ = nullptr;
  size_t capacity_ = 0;
};

}  // namespace longhaul
