#pragma once
// Few numbers added up over GPUs that write into each other's memory ("one-shot" all-reduce): each
// sends all it has to all others and adds up what came itself, so that it costs one way over NVLink
// where a ring's steps follow each other. For generated tokens, whose 4,096 numbers are added up
// twice a layer.

#include <memory>
#include <vector>

#include "ops/core/gpu/device_buffer.gpu.h"
#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {

class OneShot {
 public:
  static constexpr int kMostMembers = 8;
  static constexpr int64_t kMostWords = 65536;  ///< 16 rows of 4,096

  /// None where a GPU cannot write into another's memory. Throws std::bad_alloc.
  static std::unique_ptr<OneShot> between(const std::vector<std::shared_ptr<GpuQueue>>& gpus);
  OneShot(const OneShot&) = delete;
  OneShot& operator=(const OneShot&) = delete;

  // All members call them at about the same time (GpuTeam::together()).
  /// `numbers` [count] of each member become the sum of all, of the same bits everywhere.
  void add_up(int member, float* numbers, int64_t count);
  /// The words of all members, one after the other, at `all` [members, count].
  void gather(int member, const int32_t* own, int64_t count, int32_t* all);
  /// GPUs that wait for another's numbers stop, with numbers of no meaning.
  void give_up() noexcept;
  /// Once no member works. Waits for what they were given before.
  void begin_anew();

 private:
  /// What a GPU is sent. Zero at first, which no round is.
  struct Box {
    DeviceBuffer words;
    uint32_t round = 0;
  };
  explicit OneShot(const std::vector<std::shared_ptr<GpuQueue>>& gpus);
  volatile uint32_t& stop() const { return *reinterpret_cast<uint32_t*>(stop_.data()); }
  void exchange(int member, const uint32_t* own, int64_t count, uint32_t* all, bool sum);

  std::vector<std::shared_ptr<GpuQueue>> gpus_;
  std::vector<Box> boxes_;
  PinnedBuffer stop_;  ///< not 0 after give_up(): a word that kernels look at while they wait
};

}  // namespace longhaul::cuda
