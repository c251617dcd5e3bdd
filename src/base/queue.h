#pragma once
// A queue runs work in order. Operations take a queue as their first argument. The host's queue
// runs work at once; a device's queue submits it and returns. A device may belong to a team
// (base/team.h).

#include <algorithm>
#include <memory>
#include <utility>

#include "base/device_queue.h"
#include "base/place.h"
#include "base/team.h"

namespace longhaul {

/// A handle: copies refer to the same queue.
class Queue {
 public:
  Queue() = default;  ///< the host's queue
  explicit Queue(std::shared_ptr<DeviceQueue> device) : device_(std::move(device)) {}
  /// The queue of one member of a team.
  Queue(std::shared_ptr<Team> team, int member)
      : device_(team->device(member)), team_(std::move(team)), member_(member) {}

  Place place() const { return device_ == nullptr ? Place{} : device_->place(); }
  bool operator==(const Queue&) const = default;
  bool on_host() const { return device_ == nullptr; }
  /// Not for the host's queue.
  DeviceQueue& device() const { return *device_; }
  const std::shared_ptr<DeviceQueue>& shared_device() const { return device_; }
  /// Null: the device works alone.
  const std::shared_ptr<Team>& team() const { return team_; }
  /// rank within the team; 0 is the root, or a device that works alone
  int member() const { return member_; }
  int members() const { return team_ == nullptr ? 1 : team_->size(); }
  /// Whether `says` is true for any member of the team; all members must call it.
  bool any_member(bool says) const { return team_ == nullptr ? says : team_->any(member_, says); }
  /// The minimum over all members; all members must call it.
  int64_t least_of_members(int64_t own) const {
    if (team_ == nullptr) return own;
    return std::ranges::min(team_->gather(member_, {&own, 1}));
  }
  /// The sum over all members; all members must call it.
  int64_t sum_of_members(int64_t own) const {
    if (team_ == nullptr) return own;
    int64_t sum = 0;
    for (const int64_t each : team_->gather(member_, {&own, 1})) sum += each;
    return sum;
  }
  /// Waits for all submitted work. The host's queue never has pending work.
  void wait() {
    if (device_ != nullptr) device_->wait();
  }

 private:
  std::shared_ptr<DeviceQueue> device_;
  std::shared_ptr<Team> team_;
  int member_ = 0;
};

/// The queue for work on the host. It has no state, so all threads may share it.
inline Queue& host_queue() {
  static Queue queue;
  return queue;
}

}  // namespace longhaul
