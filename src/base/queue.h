#pragma once
// A Queue is the place where operations are executed in order. It is the first argument of an
// operation. An operation on the host's queue is complete when it returns. An operation on a
// device's queue only submits work to the device and returns. A device may belong to a communicator
// (base/communicator.h).

#include <algorithm>
#include <memory>
#include <utility>

#include "base/communicator.h"
#include "base/device_queue.h"
#include "base/place.h"

namespace longhaul {

/// A handle of a queue. Copies refer to the same queue.
class Queue {
 public:
  Queue() = default;  ///< refers to the host's queue
  explicit Queue(std::shared_ptr<DeviceQueue> device) : device_(std::move(device)) {}
  /// Refers to the queue of one rank of a communicator.
  Queue(std::shared_ptr<Communicator> communicator, int rank)
      : device_(communicator->device(rank)), communicator_(std::move(communicator)), rank_(rank) {}

  Place place() const { return device_ == nullptr ? Place{} : device_->place(); }
  bool operator==(const Queue&) const = default;
  bool on_host() const { return device_ == nullptr; }
  /// Returns the device queue. It must not be called for the host's queue.
  DeviceQueue& device() const { return *device_; }
  const std::shared_ptr<DeviceQueue>& shared_device() const { return device_; }
  /// Returns the communicator. The result is null if the device works alone.
  const std::shared_ptr<Communicator>& communicator() const { return communicator_; }
  /// Returns the rank in the communicator. Rank 0 is called the root. A device without a
  /// communicator, and the host, also have rank 0.
  int rank() const { return rank_; }
  int ranks() const { return communicator_ == nullptr ? 1 : communicator_->size(); }
  /// Returns whether at least one rank of the communicator passed `says` = true. All ranks must
  /// call it.
  bool any_member(bool says) const {
    return communicator_ == nullptr ? says : communicator_->any(rank_, says);
  }
  /// Returns the minimum of `own` over all ranks. All ranks must call it.
  int64_t least_of_members(int64_t own) const {
    if (communicator_ == nullptr) return own;
    return std::ranges::min(communicator_->all_gather(rank_, {&own, 1}));
  }
  /// Returns the sum of `own` over all ranks. All ranks must call it.
  int64_t sum_of_members(int64_t own) const {
    if (communicator_ == nullptr) return own;
    int64_t sum = 0;
    for (const int64_t each : communicator_->all_gather(rank_, {&own, 1})) sum += each;
    return sum;
  }
  /// Waits for all submitted work. The host's queue never has pending work.
  void wait() {
    if (device_ != nullptr) device_->wait();
  }

 private:
  std::shared_ptr<DeviceQueue> device_;
  std::shared_ptr<Communicator> communicator_;
  int rank_ = 0;
};

/// Returns the queue for work on the host. It has no state, so all threads may share it.
inline Queue& host_queue() {
  static Queue queue;
  return queue;
}

}  // namespace longhaul
