#pragma once
// Host copies of the arguments of attention calls (base/host_stage.h): calls, tasks and the pages
// of their keys, for operations that a device does not implement.

#include <memory>
#include <vector>

#include "base/host_stage.h"
#include "ops/attention/attention.h"

namespace longhaul {

/// The segment with its index and counts in host memory. The counts are resolved, and the rows stay
/// where they are.
KeySegment with_host_index(HostStage& stage, const KeySegment& segment);

class HostCopies {
 public:
  explicit HostCopies(Queue& queue) : stage_(queue) {}

  template <class T>
  View<T> operator()(const View<T>& view) {
    return stage_(view);
  }
  /// Returns the call on the host's queue.
  AttendCall operator()(const AttendCall& call);
  /// Returns the tasks with their segments. Counts are resolved, and page lists become row lists.
  std::span<const AttendTask> operator()(std::span<const AttendTask> tasks);
  std::span<const KeySegment> operator()(std::span<const KeySegment> segments);
  KeySegment operator()(const KeySegment& segment);
  /// Returns rows [begin, end), with unchanged row numbers.
  PagedRows operator()(const PagedRows& rows, int64_t begin, int64_t end);

 private:
  View<const float> expanded(View<const uint8_t> rounded);
  View<const int32_t> rows_of_pages(const KeySegment& segment);

  HostStage stage_;
  RotationBuffer rotations_;
  std::vector<View<const float>> queries_;
  std::vector<float> expanded_;  ///< queries of a call that has them only in bf16
  std::vector<std::unique_ptr<std::vector<KeySegment>>> segments_;
  std::vector<std::unique_ptr<std::vector<const std::byte*>>> pages_;
  std::vector<std::unique_ptr<std::vector<int32_t>>> indices_;
  std::vector<AttendTask> tasks_;
};

}  // namespace longhaul
