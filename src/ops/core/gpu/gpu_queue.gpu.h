#pragma once
// A GPU's queue: one CUDA stream and pinned memory for transfers from the host.

#include <cuda_runtime_api.h>

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/device_queue.h"
#include "ops/core/gpu/slab_range.gpu.h"
#include "ops/matmul/weight_copies.h"

namespace longhaul::cuda {

class GpuQueue : public DeviceQueue {
 public:
  /// Throws UserError.
  explicit GpuQueue(int device);
  ~GpuQueue() override;
  GpuQueue(const GpuQueue&) = delete;
  GpuQueue& operator=(const GpuQueue&) = delete;

  std::string name() const override { return name_; }
  size_t free_bytes() const override;
  Place place() const override { return {static_cast<int16_t>(device_)}; }
  void enter() override { make_current(); }
  void* allocate(size_t bytes) override;
  void release(void* memory) noexcept override;
  void* allocate_slab() override;
  void release_slab(void* slab) noexcept override;
  void upload(const void* host, void* device, size_t bytes) override;
  void upload_all(std::span<const DeviceBytes> pieces) override;
  void download(const void* device, void* host, size_t bytes) override;
  void copy(const void* from, void* to, size_t bytes) override;
  void copy_all(std::span<const DeviceBytes> pieces) override;
  void clear(void* memory, size_t bytes) override;
  void wait() override;
  int64_t waits() const override { return waits_; }
  double waited_seconds() const override { return waited_seconds_; }
  uint64_t record_event() override;
  bool event_reached(uint64_t event) override;
  void wait_for(uint64_t event) override;
  DeviceOps& ops() override { return *ops_; }

  /// The address range of all slabs.
  const SlabRange& slabs() const { return *slabs_; }
  cudaStream_t handle() const { return stream_; }
  int processors() const { return processors_; }
  int capability() const { return capability_; }  ///< 90 for 9.0
  size_t memory_left() const;                     ///< bytes not used by anything except copies
  /// Copies of weights, as many as fit.
  const std::shared_ptr<WeightCopies>& copies() const { return copies_; }
  /// Returns pinned host memory for `bytes` bytes, at most kStageBytes. It may be written until the
  /// next call, and copies from it must be queued before that.
  std::byte* stage(size_t bytes);
  static constexpr size_t kStageBytes = size_t{8} << 20;

 private:
  /// A part of the pinned memory. It is reused once the copies from it are done.
  struct Stage {
    std::byte* memory = nullptr;
    size_t used = 0;
    cudaEvent_t done = nullptr;
  };
  /// A recorded event. Numbers ascend.
  struct Recorded {
    uint64_t number = 0;
    cudaEvent_t event = nullptr;
  };
  /// A slab that is freed when the work before an event has ended.
  struct RetiredSlab {
    uint64_t event = 0;
    void* slab = nullptr;
  };
  template <class Wait>
  void timed(Wait&& wait);
  void synchronize();
  void free_retired_slabs(bool wait);
  void make_current() const;
  void keep_room(size_t bytes);
  bool give_up_copies();

  int device_;
  int processors_ = 0, capability_ = 0;
  std::string name_;
  cudaStream_t stream_ = nullptr;
  std::array<Stage, 4> stages_;
  size_t stage_ = 0;
  int64_t waits_ = 0;
  double waited_seconds_ = 0;
  uint64_t events_ = 0, reached_ = 0;  ///< numbers of the last event and of the last one reached
  std::deque<Recorded> recorded_;      ///< not known to be reached
  std::vector<cudaEvent_t> unused_events_;  ///< to be recorded again
  std::deque<RetiredSlab> retired_;
  int64_t slabs_taken_ = 0;
  std::shared_ptr<WeightCopies> copies_ = std::make_shared<WeightCopies>();
  std::unique_ptr<SlabRange> slabs_;
  std::unique_ptr<DeviceOps> ops_;
};

}  // namespace longhaul::cuda
