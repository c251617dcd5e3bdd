#pragma once
// Copies the arguments of attention calls to the host (base/host_stage.h): calls, tasks and the
// pages of their keys. Operations that a device does not implement run on these copies.

#include <memory>
#include <vector>

#include "base/host_stage.h"
#include "ops/attention/attention.h"

namespace longhaul {

/// Returns the segment with its index and counts in host memory. The counts are resolved
/// (resolve_counts). The rows of the segment are not copied.
KeySegment with_host_index(HostStage& stage, const KeySegment& segment);

class HostCopies {
 public:
  explicit HostCopies(Queue& queue) : stage_(queue) {}

  template <class T>
  View<T> operator()(const View<T>& view) {
    return stage_(view);
  }
  /// Returns a copy of the call for the queue of the host.
  AttendCall operator()(const AttendCall& call);
  /// Returns copies of the tasks with their segments. Counts are resolved (resolve_counts), and
  /// lists of pages become lists of rows.
  std::span<const AttendTask> operator()(std::span<const AttendTask> tasks);
  std::span<const KeySegment> operator()(std::span<const KeySegment> segments);
  KeySegment operator()(const KeySegment& segment);
  /// Returns a copy of rows [begin, end). The rows keep their row numbers.
  PagedRows operator()(const PagedRows& rows, int64_t begin, int64_t end);

 private:
  View<const float> expanded(View<const uint8_t> rounded);
  View<const int32_t> rows_of_pages(const KeySegment& segment);

  HostStage stage_;
  RotationBuffer rotations_;
  std::vector<View<const float>> queries_;
  std::vector<float> expanded_;  ///< the queries in f32, if the call has them only in bf16
  std::vector<std::unique_ptr<std::vector<KeySegment>>> segments_;
  std::vector<std::unique_ptr<std::vector<const std::byte*>>> pages_;
  std::vector<std::unique_ptr<std::vector<int32_t>>> indices_;
  std::vector<AttendTask> tasks_;
};

}  // namespace longhaul
