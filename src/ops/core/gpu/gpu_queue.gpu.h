#pragma once
// The queue of a GPU: one CUDA stream, and pinned memory for transfers from the host.

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/device_queue.h"
#include "ops/core/gpu/slab_range.gpu.h"
#include "ops/matmul/weight_copies.h"

namespace longhaul::cuda {

class GpuQueue : public DeviceQueue {
 public:
  /// Throws UserError if the GPU cannot be used.
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

  /// Returns the address range that contains all slabs (memory for pages of keys and values).
  const SlabRange& slabs() const { return *slabs_; }
  cudaStream_t handle() const { return stream_; }
  int processors() const { return processors_; }
  /// Returns 10 * the compute capability: 90 means 9.0.
  int capability() const { return capability_; }
  size_t memory_left() const;  ///< returns the free device memory in bytes; copies of weights count
                               ///< as used
  /// Returns the registry of the weight copies in device memory. Copies are made as long as memory
  /// suffices.
  const std::shared_ptr<WeightCopies>& copies() const { return copies_; }
  /// Returns pinned host memory for `bytes` bytes, at most kStageBytes. The caller may write to it
  /// and must queue all copies from this memory to the device before it calls stage() again.
  std::byte* stage(size_t bytes);
  static constexpr size_t kStageBytes = size_t{8} << 20;
  static constexpr size_t kArrivalBytes = size_t{1} << 20;

  /// Begins to copy device memory to the host, without waiting. `host` receives the bytes in
  /// end_downloads(), and must stay valid until then.
  void begin_download(const void* device, void* host, size_t bytes);
  /// Waits until the work before the event has ended, and ends all copies that were begun before
  /// the event.
  void end_downloads(uint64_t event);

  /// Returns the queue's only object of type T. Operations keep state between calls in such
  /// objects. The object is created on first use and destroyed with the queue. If T has a
  /// constructor from GpuQueue&, that constructor is used.
  template <class T>
  T& own() {
    static const size_t number = next_own_++;
    if (own_.size() <= number) own_.resize(number + 1);
    if (own_[number] == nullptr) {
      std::shared_ptr<T> made;
      if constexpr (std::is_constructible_v<T, GpuQueue&>) {
        made = std::make_shared<T>(*this);
      } else {
        made = std::make_shared<T>();
      }
      own_[number] = made.get();
      made_.push_back(std::move(made));
    }
    return *static_cast<T*>(own_[number]);
  }
  /// Sets the implementation of an operation in the queue's table. The queue is passed to
  /// `function` as the first argument. If `function` returns nothing, the operation returns true.
  template <class Result, class... Arguments, class Function>
  void implement(const DeviceOperation<Result(Arguments...)>& operation, Function function) {
    operations().set(operation, [this, function](Arguments... arguments) -> Result {
      using Given = std::invoke_result_t<Function, GpuQueue&, Arguments...>;
      if constexpr (std::is_void_v<Given>) {
        function(*this, std::forward<Arguments>(arguments)...);
        return true;
      } else {
        return function(*this, std::forward<Arguments>(arguments)...);
      }
    });
  }

 private:
  /// A section of the pinned memory. It is reused as soon as the copies from it have ended.
  struct Stage {
    std::byte* memory = nullptr;
    size_t used = 0;
    cudaEvent_t done = nullptr;
  };
  /// A recorded CUDA event and its number. Later events have higher numbers.
  struct Recorded {
    uint64_t number = 0;
    cudaEvent_t event = nullptr;
  };
  /// A released slab, which may be used again, and which may be freed when the work before the
  /// event has ended.
  struct RetiredSlab {
    uint64_t event = 0;
    void* slab = nullptr;
  };
  /// A copy to the host that has begun. Its bytes arrive in pinned memory.
  struct Download {
    uint64_t event = 0;  ///< the first event after the copy
    const std::byte* arrived = nullptr;
    void* host = nullptr;
    size_t bytes = 0;
  };
  template <class Wait>
  void timed(Wait&& wait);
  void synchronize();
  bool free_oldest_slab(bool wait);
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
  /// Number of the last recorded event, and number of the last event known to be reached.
  uint64_t events_ = 0, reached_ = 0;
  std::deque<Recorded> recorded_;           ///< events that are not known to be reached
  std::vector<cudaEvent_t> unused_events_;  ///< events that can be recorded again
  std::deque<RetiredSlab> retired_;
  size_t most_retired_ = 0;
  std::byte* arrivals_ = nullptr;  ///< pinned memory for downloads_, kArrivalBytes bytes
  size_t arrivals_used_ = 0;
  std::deque<Download> downloads_;  ///< in the order in which they were begun
  int64_t slabs_taken_ = 0;
  std::shared_ptr<WeightCopies> copies_ = std::make_shared<WeightCopies>();
  std::unique_ptr<SlabRange> slabs_;
  std::unique_ptr<DeviceOps> ops_;
  inline static std::atomic<size_t> next_own_ = 0;  ///< index of the next type for own()
  std::vector<void*> own_;  ///< objects of own() by type index; null: not created yet
  /// Owners of the objects of own(), in the order of their creation.
  std::vector<std::shared_ptr<void>> made_;
};

}  // namespace longhaul::cuda
