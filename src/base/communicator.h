#pragma once
// Communicator connects devices that share one model. Each device computes a part of the attention
// heads (tensor parallelism). Each device is a rank with its own thread. All ranks execute the same
// calls in the same order. They synchronise when they add partial results or exchange numbers.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <vector>

#include "base/device_queue.h"

namespace longhaul {

/// Thrown in all other ranks if one rank has failed. The other ranks cannot continue without the
/// failed rank.
struct CommunicatorAborted : std::exception {
  const char* what() const noexcept override { return "another device gave up"; }
};

class Communicator {
 public:
  /// Rank i uses devices[i]. There must be at least two devices.
  explicit Communicator(std::vector<std::shared_ptr<DeviceQueue>> devices);
  virtual ~Communicator() = default;

  int size() const { return static_cast<int>(devices_.size()); }
  const std::shared_ptr<DeviceQueue>& device(int rank) const;

  // The thread of each rank calls the following functions. All ranks pass equal arguments, except
  // for `rank` and their own data. The functions throw CommunicatorAborted after give_up() was
  // called.
  /// All-reduce: replaces `numbers` by the sum over all ranks. `numbers` has `count` elements in
  /// the memory of the rank's device. The result is bitwise equal on all ranks. This implementation
  /// copies the numbers to the host and adds them in the order of ranks.
  virtual void all_reduce(int rank, float* numbers, int64_t count);
  /// All-gather: writes the `count` integers `own` of every rank to `all`, in the order of ranks.
  /// `all` has size() * count elements. Both are in the memory of the rank's device.
  virtual void all_gather(int rank, const int32_t* own, int64_t count, int32_t* all);
  /// Returns on every rank whether at least one rank passed `says` = true.
  bool any(int rank, bool says);
  /// All-gather on the host: returns the numbers `own` of all ranks, [ranks, own.size()].
  std::vector<int64_t> all_gather(int rank, std::span<const int64_t> own);

  /// Aborts the communication. A rank calls it when it has failed. All ranks that wait for the
  /// failed rank, now or later, get CommunicatorAborted.
  virtual void give_up() noexcept;
  /// Resets the communicator after a failure. Call it only while no rank is working.
  virtual void begin_anew();

  // A step is one computation that all ranks execute together, such as a prefill step or a decode
  // step. In a step, all ranks must synchronise equally often. If a rank waits after another rank
  // has ended the step, it gets CommunicatorAborted.
  void begin_step() { left_.store(0); }  ///< must be called before any rank works on the step
  void end_step();                       ///< every rank calls this after its work in the step

 protected:
  /// Waits until all ranks have called it. Either all ranks return, or all ranks throw.
  void barrier();

 private:
  /// Data that a rank publishes for the other ranks. There are two buffers for each kind of data,
  /// and the rank uses them alternately. All ranks synchronise between two uses of the same buffer,
  /// so the other ranks have read the old data before it is overwritten.
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
  std::atomic<uint32_t> round_{0};  ///< changes when a barrier is complete or a rank has failed
  std::atomic<uint32_t> met_{0};    ///< number of completed barriers
  std::atomic<int> left_{0};        ///< number of ranks that have ended the step
  std::atomic<bool> gave_up_{false};
};

}  // namespace longhaul
