#pragma once
// Where work runs, in order. Operations take a queue first: the host's queue does the work at once,
// a device's hands it on and returns.

#include <memory>
#include <utility>

#include "base/device_queue.h"
#include "base/place.h"

namespace longhaul {

/// A handle: copies are the same queue.
class Queue {
 public:
  Queue() = default;  ///< the host's
  explicit Queue(std::shared_ptr<DeviceQueue> device) : device_(std::move(device)) {}

  Place place() const { return device_ == nullptr ? Place{} : device_->place(); }
  bool on_host() const { return device_ == nullptr; }
  /// Not of the host's queue.
  DeviceQueue& device() const { return *device_; }
  const std::shared_ptr<DeviceQueue>& shared_device() const { return device_; }
  /// Returns when all work that was handed on is done. The host's queue has none under way.
  void wait() {
    if (device_ != nullptr) device_->wait();
  }

 private:
  std::shared_ptr<DeviceQueue> device_;
};

/// The queue of work on the host. It has no state, so that all threads may share it.
inline Queue& host_queue() {
  static Queue queue;
  return queue;
}

}  // namespace longhaul
