#pragma once
// All-reduce of few values over GPUs that write into each other's memory ("one-shot"). Each GPU
// sends all its values to all others and sums what it received. This costs one trip over NVLink,
// where a ring has several sequential steps. Used for decoding, where 4,096 values are reduced
// twice per layer.

#include <memory>
#include <vector>

#include "ops/core/gpu/device_buffer.gpu.h"
#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {

class OneShot {
 public:
  static constexpr int kMostMembers = 8;
  static constexpr int64_t kMostWords = 65536;  ///< 16 rows of 4,096 values

  /// Returns null if a GPU cannot write into another's memory. Throws std::bad_alloc.
  static std::unique_ptr<OneShot> between(const std::vector<std::shared_ptr<GpuQueue>>& gpus);
  OneShot(const OneShot&) = delete;
  OneShot& operator=(const OneShot&) = delete;

  // All ranks must call these at about the same time (GpuCommunicator::together()).
  /// Replaces `numbers` [count] of each rank by the sum over all, bitwise equal everywhere.
  void all_reduce(int rank, float* numbers, int64_t count);
  /// Concatenates the words of all ranks at `all` [ranks, count].
  void all_gather(int rank, const int32_t* own, int64_t count, int32_t* all);
  /// Stops GPUs that wait for another's values. Their results are then undefined.
  void give_up() noexcept;
  /// Resets the state while no rank works. Waits for earlier work of the ranks.
  void begin_anew();

 private:
  /// Receive buffer of a GPU. It starts at zero, which no round number equals.
  struct Box {
    DeviceBuffer words;
    uint32_t round = 0;
  };
  explicit OneShot(const std::vector<std::shared_ptr<GpuQueue>>& gpus);
  volatile uint32_t& stop() const { return *reinterpret_cast<uint32_t*>(stop_.data()); }
  void exchange(int rank, const uint32_t* own, int64_t count, uint32_t* all, bool sum);

  std::vector<std::shared_ptr<GpuQueue>> gpus_;
  std::vector<Box> boxes_;
  PinnedBuffer stop_;  ///< nonzero after give_up(); kernels poll it while they wait
};

}  // namespace longhaul::cuda
