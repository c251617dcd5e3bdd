#pragma once
// Where work runs, in order. Operations take a queue first: the host's queue does the work at once,
// a device's hands it on and returns. A device may be one of a team (base/team.h).

#include <algorithm>
#include <memory>
#include <utility>

#include "base/device_queue.h"
#include "base/place.h"
#include "base/team.h"

namespace longhaul {

/// A handle: copies are the same queue.
class Queue {
 public:
  Queue() = default;  ///< the host's
  explicit Queue(std::shared_ptr<DeviceQueue> device) : device_(std::move(device)) {}
  /// The queue of one member of a team.
  Queue(std::shared_ptr<Team> team, int member)
      : device_(team->device(member)), team_(std::move(team)), member_(member) {}

  Place place() const { return device_ == nullptr ? Place{} : device_->place(); }
  bool operator==(const Queue&) const = default;
  bool on_host() const { return device_ == nullptr; }
  /// Not of the host's queue.
  DeviceQueue& device() const { return *device_; }
  const std::shared_ptr<DeviceQueue>& shared_device() const { return device_; }
  /// Null: the device works alone.
  const std::shared_ptr<Team>& team() const { return team_; }
  int member() const { return member_; }  ///< which of the team; 0: it leads, or works alone
  int members() const { return team_ == nullptr ? 1 : team_->size(); }
  /// Whether any member of the team says so; all of them ask.
  bool any_member(bool says) const { return team_ == nullptr ? says : team_->any(member_, says); }
  /// The least that any member says; all of them ask.
  int64_t least_of_members(int64_t own) const {
    if (team_ == nullptr) return own;
    return std::ranges::min(team_->gather(member_, {&own, 1}));
  }
  /// The sum of what all members say; all of them ask.
  int64_t sum_of_members(int64_t own) const {
    if (team_ == nullptr) return own;
    int64_t sum = 0;
    for (const int64_t each : team_->gather(member_, {&own, 1})) sum += each;
    return sum;
  }
  /// Returns when all work that was handed on is done. The host's queue has none under way.
  void wait() {
    if (device_ != nullptr) device_->wait();
  }

 private:
  std::shared_ptr<DeviceQueue> device_;
  std::shared_ptr<Team> team_;
  int member_ = 0;
};

/// The queue of work on the host. It has no state, so that all threads may share it.
inline Queue& host_queue() {
  static Queue queue;
  return queue;
}

}  // namespace longhaul
