#pragma once
// How far a run is, told after every answer.

#include <mutex>
#include <vector>

#include "eval/contenders.h"
#include "eval/runner.h"

namespace longhaul {

class RunProgress {
 public:
  /// Of so many answers, which are so much work in all. `hooks` must outlive it.
  RunProgress(const std::vector<Contender>& contenders, int64_t answers, double work,
              const EvalHooks& hooks);

  /// The running score begins with what earlier runs answered. Before the first count().
  void add_found(const Record& record) { add_score(record); }
  /// One answer more: with the records that are new, and the engine's seconds for it. For any
  /// thread.
  void count(double work, const std::vector<Record>& records, double engine_seconds);

  /// Not while threads count.
  double engine_seconds() const { return engine_seconds_; }

 private:
  void add_score(const Record& record);

  const EvalHooks& hooks_;
  const double work_;
  std::mutex mutex_;
  EvalProgress progress_;
  double work_done_ = 0, engine_seconds_ = 0;
};

}  // namespace longhaul
