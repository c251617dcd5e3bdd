#pragma once
// Gathers keys and values into bf16 pages, once for all rows of a prompt. This is done for keys
// that the wgmma kernel cannot read directly: types other than bf16, keys that are stored without
// rotation, and lists of rows. Attention over gathered pages reaches 580 TFLOP/s on an H100.
// Without gathering, each thread block converts keys itself and reaches only 100 (Q8_0) to 140
// TFLOP/s (keys without rotation). Whole lists can also be gathered for callers that read them
// piece by piece. The gathered pages then have the same order as the pages of the list.

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
  /// Limits gathered keys to `most_bytes` bytes at a time. A single KV head may exceed the limit.
  /// Keys for which the card has no memory are read directly.
  explicit StagedKeys(GpuQueue& queue, size_t most_bytes = kMostGatheredKeys)
      : queue_(queue), most_bytes_(most_bytes) {}

  /// Implements kGatherLists (ops/attention/gather_lists.h). `rows` is the number of (row, head)
  /// pairs that will read each list.
  int gather_lists(std::span<const PagedRows> lists, int64_t keys, int64_t rows,
                   std::span<PagedRows> to);

  /// Passes all tasks to `attend`, possibly in several calls. If the keys of a task have been
  /// gathered, its segments are replaced by segments over the gathered keys.
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
  int64_t used_ = 0;      ///< number of pages used so far
  bool no_room_ = false;  ///< whether an earlier call found that whole lists do not fit
  std::vector<GatherRecord> records_;
  std::vector<const int32_t*> lists_;  ///< per record: the host list of its rows, or null
  PlanBytes bytes_;                    ///< layout of the upload
  std::vector<std::byte> packed_;      ///< contents of the upload
  std::vector<KeySegment> segments_;
  std::vector<AttendTask> tasks_;
  Room sent_{queue_};
};

}  // namespace longhaul::cuda
