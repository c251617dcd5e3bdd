#pragma once
// AttendBatch collects the attention calls of several sequences in one layer, and then computes all
// of them in one parallel call.

#include <span>
#include <vector>

#include "ops/attention/attention.h"

namespace longhaul {

struct AttentionRecord;

class AttendBatch {
 public:
  /// Adds a call with `pairs` (row, query head, key) triples. Views, tasks and segments are copied,
  /// unless they `stay` unchanged until run(). The memory that they refer to (queries, lists, page
  /// tables, rotations, outputs) must stay unchanged in both cases.
  void add(const AttendCall& call, std::span<const AttendTask> tasks, int64_t pairs,
           AttentionRecord& record, bool stay);
  size_t size() const { return calls_.size(); }
  /// Removes all calls except the first `size`.
  void shrink(size_t size);
  /// Computes all calls and clears the batch. The time of the parallel call is divided among the
  /// records of the sequences, in proportion to their numbers of (row, query head, key) triples.
  void run();

 private:
  struct Call {
    AttendCall call;
    AttentionRecord* record = nullptr;
    std::span<const AttendTask> tasks;  ///< valid if `stay` is true
    bool stay = false;
    size_t first_form = 0, forms = 0;         ///< copied views; none if `stay` is true
    size_t first_task = 0, copied_tasks = 0;  ///< copied tasks
    int64_t pairs = 0;
  };
  std::vector<Call> calls_;
  std::vector<View<const float>> forms_;
  std::vector<AttendTask> tasks_;
  std::vector<size_t> first_segments_;  ///< per task: index of its first segment in segments_
  std::vector<KeySegment> segments_;
  std::vector<AttendJob> jobs_;
};

}  // namespace longhaul
