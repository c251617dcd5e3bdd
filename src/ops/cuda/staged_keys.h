#pragma once
// What the wgmma kernel cannot read as it lies - keys of other types than bf16, raw keys, lists of
// rows - is gathered once for all rows of a prompt into bf16 pages, and attention runs over these:
// 580 TFLOP/s on an H100, where blocks that gather for themselves reach 100 (Q8_0) to 140 (raw).

#include <functional>
#include <span>
#include <vector>

#include "ops/attention.h"
#include "ops/cuda/gather_keys.h"
#include "ops/cuda/gpu_queue.h"
#include "ops/cuda/room.h"

namespace longhaul::cuda {

class StagedKeys {
 public:
  /// Memory for gathered keys that is taken at most. A KV head whose keys have no room in it is
  /// read as it lies.
  static constexpr size_t kMostBytes = size_t{256} << 20;

  explicit StagedKeys(GpuQueue& queue) : queue_(queue) {}
  ~StagedKeys();
  StagedKeys(const StagedKeys&) = delete;
  StagedKeys& operator=(const StagedKeys&) = delete;

  /// Hands all tasks to `attend`, some at a time: those whose keys are gathered with segments over
  /// the gathered keys.
  void run(const AttendCall& call, std::span<const AttendTask> tasks,
           const std::function<void(std::span<const AttendTask>)>& attend);

 private:
  bool gains(const AttendCall& call, const AttendTask& task) const;
  bool reserve(int64_t pages);
  void set_head_dim(int head_dim);
  KeySegment gather(const KeySegment& keys);
  void flush(const AttendCall& call,
             const std::function<void(std::span<const AttendTask>)>& attend);

  GpuQueue& queue_;
  int head_dim_ = 0;
  size_t page_bytes_ = 0;
  std::vector<void*> slabs_;
  std::vector<const std::byte*> pages_;  ///< of all slabs; in `table_`, too
  int64_t used_ = 0;                     ///< pages, by what is gathered next
  std::vector<GatherRecord> records_;
  std::vector<KeySegment> segments_;
  std::vector<AttendTask> tasks_;
  Room table_{queue_}, sent_{queue_};
};

}  // namespace longhaul::cuda
