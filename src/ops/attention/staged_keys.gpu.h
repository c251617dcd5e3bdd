#pragma once
// Gathers keys and values into bf16 pages before many prefill rows read them. Only keys are
// gathered that the wgmma kernel for Hopper GPUs cannot read directly. These are keys of types
// other than bf16, keys that are stored without RoPE, and keys that an index lists row by row.
// Attention over gathered pages reaches 580 TFLOP/s on an H100. Without gathering, each thread
// block converts keys itself and reaches only 100 TFLOP/s (Q8_0) to 140 TFLOP/s (keys stored
// without RoPE). gather_lists() gathers all keys of a KV head, for operations that read them in
// several calls. Row i of the gathered pages is then stored row i.

#include <functional>
#include <span>
#include <vector>

#include "ops/attention/attention.h"
#include "ops/attention/gather_keys.gpu.h"
#include "ops/attention/scratch_pages.gpu.h"
#include "ops/core/device_room.h"
#include "ops/maps/score_plan.h"

namespace longhaul::cuda {

class StagedKeys {
 public:
  /// `most_bytes` limits the size of the keys and values that are gathered at a time. The keys and
  /// values of a single task or list may exceed the limit. If the GPU has too little memory to
  /// gather keys, they are read where they are stored.
  explicit StagedKeys(GpuQueue& queue, size_t most_bytes = kMostGatheredKeys)
      : queue_(queue), most_bytes_(most_bytes) {}

  /// Implements kGatherLists (ops/attention/gather_lists.h). `rows` is the number of flat rows
  /// (queries of one head of one query row) that will read each list.
  int gather_lists(std::span<const PagedRows> lists, int64_t keys, int64_t rows,
                   std::span<PagedRows> to);

  /// Passes all tasks to `attend`, possibly in several calls. If the keys of a task were gathered,
  /// the task gets segments over the gathered keys.
  void run(const AttendCall& call, std::span<const AttendTask> tasks,
           const std::function<void(std::span<const AttendTask>)>& attend);

 private:
  bool can_stage(int head_dim) const;
  bool gains(const AttendCall& call, const AttendTask& task) const;
  int64_t room_for(int64_t pages, int head_dim);
  KeySegment gather(const KeySegment& keys);
  void send(int head_dim, const longhaul::Rotations* rotations);
  const GatherRecord* upload_records();
  void clear();
  void flush(const AttendCall& call,
             const std::function<void(std::span<const AttendTask>)>& attend);

  GpuQueue& queue_;
  size_t most_bytes_;
  ScratchPages pages_{queue_};
  int64_t used_ = 0;      ///< number of pages with gathered rows
  bool no_room_ = false;  ///< whether an earlier call of gather_lists() found too little memory
  std::vector<GatherRecord> records_;
  std::vector<const int32_t*> lists_;  ///< per record: the segment's index if it is in host memory,
                                       ///< otherwise null
  PlanBytes bytes_;                    ///< layout of the upload
  std::vector<std::byte> packed_;      ///< contents of the upload
  std::vector<KeySegment> segments_;
  std::vector<AttendTask> tasks_;
  Room sent_{queue_};
};

}  // namespace longhaul::cuda
