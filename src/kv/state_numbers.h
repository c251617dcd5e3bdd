#pragma once
// StateNumbers is an f32 array of fixed size, in the memory of a device or of the host.

#include <memory>
#include <utility>

#include "base/array.h"

namespace longhaul {

class StateNumbers {
 public:
  StateNumbers() = default;
  /// Allocates `count` elements in the memory of the queue's device or of the host. Their contents
  /// are undefined.
  StateNumbers(const Queue& queue, int64_t count) : size_(count) {
    if (queue.on_host()) {
      on_host_.resize(static_cast<size_t>(count));
    } else {
      device_ = queue.shared_device();
      on_device_ = static_cast<float*>(device_->allocate(bytes()));
    }
  }
  ~StateNumbers() {
    if (on_device_ != nullptr) device_->release(on_device_);
  }
  StateNumbers(StateNumbers&& other) noexcept { swap(other); }
  StateNumbers& operator=(StateNumbers&& other) noexcept {
    swap(other);
    return *this;
  }
  void swap(StateNumbers& other) noexcept {
    std::swap(on_host_, other.on_host_);
    std::swap(device_, other.device_);
    std::swap(on_device_, other.on_device_);
    std::swap(size_, other.size_);
  }

  View<float> view() const {
    if (on_device_ != nullptr) return {on_device_, size_, device_->place()};
    return {const_cast<float*>(on_host_.data()), size_};
  }
  int64_t size() const { return size_; }
  size_t bytes() const { return static_cast<size_t>(size_) * sizeof(float); }

 private:
  Buffer<float> on_host_;
  std::shared_ptr<DeviceQueue> device_;
  float* on_device_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace longhaul
