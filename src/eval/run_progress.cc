#include "eval/run_progress.h"

#include <algorithm>

namespace longhaul {

RunProgress::RunProgress(const std::vector<Contender>& contenders, int64_t answers, double work,
                         const EvalHooks& hooks)
    : hooks_(hooks), work_(work) {
  progress_.total = answers;
  for (const Contender& contender : contenders) progress_.methods.push_back({contender.name});
}

void RunProgress::add_score(const Record& record) {
  if (record.metric != "score") return;
  for (EvalProgress::Method& method : progress_.methods) {
    if (method.name != record.method) continue;
    method.sum += record.score;
    method.scored += 1;
  }
}

void RunProgress::count(double work, const std::vector<Record>& records, double engine_seconds) {
  const std::lock_guard lock(mutex_);
  progress_.done += 1;
  work_done_ += work;
  engine_seconds_ += engine_seconds;
  progress_.share = work_ > 0 ? std::min(1.0, work_done_ / work_) : 1;
  for (const Record& record : records) add_score(record);
  if (hooks_.progress) hooks_.progress(progress_);
}

}  // namespace longhaul
