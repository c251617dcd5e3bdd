#pragma once
// What the wgmma kernel cannot read as it lies - keys of other types than bf16, raw keys, lists of
// rows - is gathered once for all rows of a prompt into bf16 pages, and attention runs over these:
// 580 TFLOP/s on an H100, where blocks that gather for themselves reach 100 (Q8_0) to 140 (raw).
// Whole lists are gathered for callers that read them piece by piece: pages keep their numbers.

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
  /// `most_bytes` of gathered keys, unless those of one KV head need more. One whose keys the card
  /// has no room for is read as it lies.
  explicit StagedKeys(GpuQueue& queue, size_t most_bytes = kMostGatheredKeys)
      : queue_(queue), most_bytes_(most_bytes) {}

  /// DeviceOps::gather_lists() of `rows` flat rows.
  int gather_lists(std::span<const PagedRows> lists, int64_t keys, int64_t rows,
                   std::span<PagedRows> to);

  /// Hands all tasks to `attend`, some at a time: those whose keys are gathered with segments over
  /// the gathered keys.
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
  int64_t used_ = 0;      ///< pages, by what is gathered next
  bool no_room_ = false;  ///< for whole lists, as was found once
  std::vector<GatherRecord> records_;
  std::vector<const int32_t*> lists_;  ///< of each record: a list of the host, or null
  PlanBytes bytes_;                    ///< of what is sent ...
  std::vector<std::byte> packed_;      ///< ... and it
  std::vector<KeySegment> segments_;
  std::vector<AttendTask> tasks_;
  Room sent_{queue_};
};

}  // namespace longhaul::cuda
