#pragma once
// How far a run is, told after every answer.

#include <mutex>
#include <vector>

#include "eval/contenders.h"
#include "eval/runner.h"

namespace longhaul {

class RunProgress {
 public:
  /// `answers`: how many the run asks for; `work`: their cost together, in tokens read
  /// (SampleQueue::work_of). `hooks` must outlive it.
  RunProgress(const std::vector<Contender>& contenders, int64_t answers, double work,
              const EvalHooks& hooks);

  /// An answer of an earlier run: it counts in the running score, and its `work` is not left to do
  /// (0: this run does not ask for it). Before the first count().
  void add_found(const Record& record, double work);
  /// One more answer is there, with its new records (none where an earlier run had it) and the
  /// engine's seconds for it. For any thread.
  void count(double work, const std::vector<Record>& records, double engine_seconds);

  /// The engine's seconds for an answer that was cancelled. For any thread.
  void add_seconds(double engine_seconds);

  /// Not while threads count.
  double engine_seconds() const { return engine_seconds_; }

 private:
  bool add_score(const Record& record);  ///< false: of a method that is not asked

  const EvalHooks& hooks_;
  double work_;       ///< of all answers that are asked for and not passed yet
  double found_ = 0;  ///< of them, found and not passed yet
  std::mutex mutex_;
  EvalProgress progress_;
  double engine_seconds_ = 0;
};

}  // namespace longhaul
