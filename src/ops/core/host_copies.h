#pragma once
// Copies the arguments of attention calls to the host (base/host_stage.h): the call, its tasks, and
// the pages with their keys and values. Operations that a device does not implement use these
// copies and run on the host.

#include <memory>
#include <vector>

#include "base/host_stage.h"
#include "ops/attention/attention.h"

namespace longhaul {

/// Returns the segment with its row numbers (KeySegment::index) in host memory. Numbers of keys
/// that the device determined (KeySegment::device_count, count_after) are copied as well and
/// already applied to `count` and `position` (resolve_counts()). The keys and values are not
/// copied.
KeySegment with_host_index(HostStage& stage, const KeySegment& segment);

class HostCopies {
 public:
  explicit HostCopies(Queue& queue) : stage_(queue) {}

  template <class T>
  View<T> operator()(const View<T>& view) {
    return stage_(view);
  }
  /// Returns a copy of the call that runs on the host queue.
  AttendCall operator()(const AttendCall& call);
  /// Returns copies of the tasks with their segments. Numbers of keys that the device determined
  /// are applied as in with_host_index(), and lists of page numbers are replaced by lists of row
  /// numbers.
  std::span<const AttendTask> operator()(std::span<const AttendTask> tasks);
  std::span<const KeySegment> operator()(std::span<const KeySegment> segments);
  KeySegment operator()(const KeySegment& segment);
  /// Returns `rows` with the pages of rows [begin, end) in host memory. Row numbers do not change.
  PagedRows operator()(const PagedRows& rows, int64_t begin, int64_t end);

 private:
  View<const float> expanded(View<const uint8_t> rounded);
  View<const int32_t> rows_of_pages(const KeySegment& segment);

  HostStage stage_;
  RotationBuffer rotations_;
  std::vector<View<const float>> queries_;
  std::vector<float> expanded_;  ///< the queries converted to f32, if the call has them only in
                                 ///< bf16
  std::vector<std::unique_ptr<std::vector<KeySegment>>> segments_;
  std::vector<std::unique_ptr<std::vector<const std::byte*>>> pages_;
  std::vector<std::unique_ptr<std::vector<int32_t>>> indices_;
  std::vector<AttendTask> tasks_;
};

}  // namespace longhaul
