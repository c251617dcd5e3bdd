#pragma once
// Devices that share one model's heads (tensor parallelism). Each has its own thread. All take the
// same steps in the same order and synchronise at sums over all heads.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "base/device_queue.h"

namespace longhaul {

/// Thrown to the members when another one has failed, because they cannot continue without it.
struct TeamGaveUp : std::exception {
  const char* what() const noexcept override { return "another device gave up"; }
};

class Team {
 public:
  /// Members are numbered in this order. There must be at least two devices.
  explicit Team(std::vector<std::shared_ptr<DeviceQueue>> devices);
  virtual ~Team() = default;

  int size() const { return static_cast<int>(devices_.size()); }
  const std::shared_ptr<DeviceQueue>& device(int member) const;

  // Called by the thread of each member, with equal arguments except for its own data. They throw
  // TeamGaveUp after give_up() was called.
  /// All-reduce: replaces `numbers` [count], on the member's device, by the sum over all members,
  /// with identical bits everywhere. This implementation copies through the host and adds in the
  /// order of members.
  virtual void add_up(int member, float* numbers, int64_t count);
  /// All-gather: writes the members' words in order to all [members * count], on the member's
  /// device.
  virtual void gather(int member, const int32_t* own, int64_t count, int32_t* all);
  /// Whether `says` is true for any member.
  bool any(int member, bool says);
  /// All-gather on the host: the values of all members, [members, own.size()].
  std::vector<int64_t> gather(int member, std::span<const int64_t> own);

  /// Marks a failed member: TeamGaveUp is thrown to all members that wait or will wait for it.
  virtual void give_up() noexcept;
  /// Resets the team when no member works.
  virtual void begin_anew();

  // A step is one common request to all members. If a member synchronises more often than the
  // others, which is an internal error, TeamGaveUp is thrown to it when another member has ended
  // its step.
  void begin_step() { left_.store(0); }  ///< call before any member works
  void end_step();                       ///< called by each member

 protected:
  /// Barrier: returns when all members have arrived, either for all of them or for none.
  void meet();

 private:
  /// Data that a member publishes. It alternates between two buffers: when a member writes to one
  /// again, all have synchronised since and have read it.
  struct Shown {
    std::vector<int64_t> says[2];
    std::vector<float> numbers[2];
    std::vector<int32_t> words[2];
    int next = 0;
  };
  Shown& shown(int member) { return shown_[static_cast<size_t>(member)]; }

  std::vector<std::shared_ptr<DeviceQueue>> devices_;
  std::vector<Shown> shown_;
  std::atomic<int> arrived_{0};
  std::atomic<uint32_t> round_{0};  ///< changes when a barrier is complete, or a member failed
  std::atomic<uint32_t> met_{0};    ///< number of completed barriers
  std::atomic<int> left_{0};        ///< members that have ended the step
  std::atomic<bool> gave_up_{false};
};

}  // namespace longhaul
