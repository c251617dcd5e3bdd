#pragma once
// Connects devices that share the heads of one model (tensor parallelism). Each device is a rank
// with its own thread. All ranks take the same steps in the same order, and synchronise when they
// sum over all heads.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "base/device_queue.h"

namespace longhaul {

/// Thrown in all other ranks when a rank has failed, because they cannot continue without it.
struct CommunicatorAborted : std::exception {
  const char* what() const noexcept override { return "another device gave up"; }
};

class Communicator {
 public:
  /// Ranks are numbered in this order. There must be at least two devices.
  explicit Communicator(std::vector<std::shared_ptr<DeviceQueue>> devices);
  virtual ~Communicator() = default;

  int size() const { return static_cast<int>(devices_.size()); }
  const std::shared_ptr<DeviceQueue>& device(int rank) const;

  // Called by the thread of each rank, with equal arguments except for its own data. They throw
  // CommunicatorAborted after give_up() was called.
  /// All-reduce: replaces `numbers` [count], on the rank's device, by the sum over all ranks,
  /// with identical bits everywhere. This implementation copies through the host and adds in the
  /// order of ranks.
  virtual void all_reduce(int rank, float* numbers, int64_t count);
  /// All-gather: writes the ranks' words in order to all [ranks * count], on the rank's
  /// device.
  virtual void all_gather(int rank, const int32_t* own, int64_t count, int32_t* all);
  /// Returns whether `says` is true for any rank.
  bool any(int rank, bool says);
  /// All-gather on the host: the values of all ranks, [ranks, own.size()].
  std::vector<int64_t> all_gather(int rank, std::span<const int64_t> own);

  /// Called by a rank that has failed. CommunicatorAborted is then thrown in all ranks that wait
  /// for it now or later.
  virtual void give_up() noexcept;
  /// Resets the communicator when no rank works.
  virtual void begin_anew();

  // A step is one common request to all ranks. It is an internal error if a rank synchronises more
  // often than the others in a step. CommunicatorAborted is then thrown in this rank when another
  // rank has ended its step.
  void begin_step() { left_.store(0); }  ///< call before any rank works
  void end_step();                       ///< called by each rank

 protected:
  /// Waits until all ranks have arrived. It either succeeds for all ranks or throws for all ranks.
  void barrier();

 private:
  /// Data that a rank publishes. A rank alternates between two buffers. When it writes to a buffer
  /// again, all ranks have synchronised in between, so they have read the buffer's previous data.
  struct Shown {
    std::vector<int64_t> says[2];
    std::vector<float> numbers[2];
    std::vector<int32_t> words[2];
    int next = 0;
  };
  Shown& shown(int rank) { return shown_[static_cast<size_t>(rank)]; }

  std::vector<std::shared_ptr<DeviceQueue>> devices_;
  std::vector<Shown> shown_;
  std::atomic<int> arrived_{0};
  std::atomic<uint32_t> round_{0};  ///< changes when a barrier is complete, or a rank failed
  std::atomic<uint32_t> met_{0};    ///< number of completed barriers
  std::atomic<int> left_{0};        ///< ranks that have ended the step
  std::atomic<bool> gave_up_{false};
};

}  // namespace longhaul
