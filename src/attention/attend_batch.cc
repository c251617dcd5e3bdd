#include "attention/attend_batch.h"

#include "attention/step.h"
#include "base/host_stopwatch.h"

namespace longhaul {

void AttendBatch::add(const AttendCall& call, std::span<const AttendTask> tasks, int64_t pairs,
                      AttentionRecord& record, bool stay) {
  calls_.push_back({call, &record, tasks, stay, forms_.size(), stay ? 0 : call.queries.size(),
                    tasks_.size(), stay ? 0 : tasks.size(), pairs});
  if (stay) return;
  forms_.insert(forms_.end(), call.queries.begin(), call.queries.end());
  for (const AttendTask& task : tasks) {
    tasks_.push_back(task);
    first_segments_.push_back(segments_.size());
    segments_.insert(segments_.end(), task.segments.begin(), task.segments.end());
  }
}

void AttendBatch::shrink(size_t size) {
  if (size >= calls_.size()) return;
  const Call& first = calls_[size];
  forms_.resize(first.first_form);
  if (first.first_task < tasks_.size()) {
    segments_.resize(first_segments_[first.first_task]);
    first_segments_.resize(first.first_task);
    tasks_.resize(first.first_task);
  }
  calls_.resize(size);
}

void AttendBatch::run() {
  if (calls_.empty()) return;
  const HostStopwatch watch(*calls_.front().call.queue);
  // All copies have their final addresses now, so that tasks can point to them.
  for (size_t i = 0; i < tasks_.size(); ++i) {
    tasks_[i].segments =
        std::span(segments_).subspan(first_segments_[i], tasks_[i].segments.size());
  }
  jobs_.clear();
  int64_t pairs = 0;
  for (Call& each : calls_) {
    if (!each.stay) {
      each.call.queries = std::span(forms_).subspan(each.first_form, each.forms);
      each.tasks = std::span(tasks_).subspan(each.first_task, each.copied_tasks);
    }
    jobs_.push_back({each.call, each.tasks});
    pairs += each.pairs;
  }
  attend(jobs_);
  const double seconds = watch.seconds();
  for (const Call& each : calls_) {
    if (pairs == 0) break;
    each.record->seconds += seconds * static_cast<double>(each.pairs) / static_cast<double>(pairs);
  }
  shrink(0);
}

}  // namespace longhaul
