#pragma once
// One-shot all-reduce of a few numbers over GPUs that can write into each other's memory. Each GPU
// sends all its numbers to all other GPUs and then adds its own and the received numbers. This
// takes one trip over NVLink, whereas a ring takes several sequential steps. Decoding uses it. A
// model with rows of 4,096 elements, for example, reduces 4,096 numbers twice per layer and token.

#include <memory>
#include <vector>

#include "ops/core/gpu/device_buffer.gpu.h"
#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {

class OneShot {
 public:
  static constexpr int kMostMembers = 8;
  static constexpr int64_t kMostWords = 65536;  ///< 16 rows of 4,096 numbers

  /// Returns null if a GPU cannot write into the memory of another. Throws std::bad_alloc.
  static std::unique_ptr<OneShot> between(const std::vector<std::shared_ptr<GpuQueue>>& gpus);
  OneShot(const OneShot&) = delete;
  OneShot& operator=(const OneShot&) = delete;

  // All ranks must call these functions at about the same time, each from its own thread
  // (GpuCommunicator::together()).
  /// Replaces `numbers` [count] of each rank by the sum over all ranks. The result is bitwise equal
  /// on all ranks.
  void all_reduce(int rank, float* numbers, int64_t count);
  /// Writes the `count` words of every rank to `all` [ranks, count], in the order of the ranks.
  void all_gather(int rank, const int32_t* own, int64_t count, int32_t* all);
  /// Stops GPUs that wait for numbers of another GPU. Their results are then undefined.
  void give_up() noexcept;
  /// Resets the state after give_up(), after the earlier work of all ranks has ended. No rank may
  /// be inside another function of this class.
  void begin_anew();

 private:
  /// The receive buffer of a GPU. A round is one exchange between all GPUs. Each word arrives with
  /// the number of its round, and the receiver waits until that number is the current one. The
  /// buffer initially holds zeros, because no round has the number 0.
  struct Box {
    DeviceBuffer words;
    uint32_t round = 0;
  };
  explicit OneShot(const std::vector<std::shared_ptr<GpuQueue>>& gpus);
  volatile uint32_t& stop() const { return *reinterpret_cast<uint32_t*>(stop_.data()); }
  void exchange(int rank, const uint32_t* own, int64_t count, uint32_t* all, bool sum);

  std::vector<std::shared_ptr<GpuQueue>> gpus_;
  std::vector<Box> boxes_;
  PinnedBuffer stop_;  ///< nonzero after give_up(); waiting kernels poll it
};

}  // namespace longhaul::cuda
