#pragma once
// Devices that have one model's heads between them (tensor parallelism). A thread works each of
// them; all take the same steps in the same order, and meet where a sum is over the heads of all.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "base/device_queue.h"

namespace longhaul {

/// What members are thrown where another one has failed: nobody can go on without it.
struct TeamGaveUp : std::exception {
  const char* what() const noexcept override { return "another device gave up"; }
};

class Team {
 public:
  /// Members are numbered in this order. Two devices or more.
  explicit Team(std::vector<std::shared_ptr<DeviceQueue>> devices);
  virtual ~Team() = default;

  int size() const { return static_cast<int>(devices_.size()); }
  const std::shared_ptr<DeviceQueue>& device(int member) const;

  // Called by the thread of each member, with the same arguments but for what is its own. They
  // throw TeamGaveUp once give_up() was called.
  /// `numbers` [count], of the member's device, become the sum of all members' numbers: of the same
  /// bits everywhere. Here by copies to the host, in the order of members.
  virtual void add_up(int member, float* numbers, int64_t count);
  /// The words that each member has, one after the other: all [members * count], on its device.
  virtual void gather(int member, const int32_t* own, int64_t count, int32_t* all);
  /// Whether any member says so.
  bool any(int member, bool says);
  /// What all members say, [members, own.size()].
  std::vector<int64_t> gather(int member, std::span<const int64_t> own);

  /// A member failed: all that wait for it, or will, are thrown TeamGaveUp.
  virtual void give_up() noexcept;
  /// Once no member works: they can begin anew.
  virtual void begin_anew();

  // A step is what all are asked for together. A member that meets the others more often than they
  // meet it, a mistake of this program, is thrown TeamGaveUp once another has ended its step.
  void begin_step() { left_.store(0); }  ///< before any member works
  void end_step();                       ///< called by each member

 protected:
  /// Returns when all members have come: for all of them, or for none.
  void meet();

 private:
  /// What a member shows the others. It alternates between two places: when it writes to one again,
  /// all have met since and have read what stood there.
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
  std::atomic<uint32_t> round_{0};  ///< changes when a meeting has been held, or a member failed
  std::atomic<uint32_t> met_{0};    ///< meetings that were held
  std::atomic<int> left_{0};        ///< members that have come to the end of a step
  std::atomic<bool> gave_up_{false};
};

}  // namespace longhaul
