#pragma once
// RunProgress reports the progress of a run after every answer.

#include <mutex>
#include <vector>

#include "eval/runner.h"
#include "eval/tested_methods.h"

namespace longhaul {

class RunProgress {
 public:
  /// `answers` is the number of requested answers. `work` is their total cost, in processed tokens
  /// (SampleQueue::work_of). `hooks` must outlive this object.
  RunProgress(const std::vector<TestedMethod>& tested_methods, int64_t answers, double work,
              const EvalHooks& hooks);

  /// Adds an answer of an earlier run. The mean scores then include it, and its `work` is
  /// subtracted from the remaining work. `work` is 0 if this run does not request the answer. Call
  /// it before the first count().
  void add_found(const Record& record, double work);
  /// Counts an answer that this run requests. If this run has computed the answer, `records` are
  /// its records, and `engine_seconds` is the time of its prefill and decode. If an earlier run has
  /// computed it, `records` is empty. Thread-safe.
  void count(double work, const std::vector<Record>& records, double engine_seconds);

  /// Adds the time that a cancelled answer has spent in prefill and decode. Thread-safe.
  void add_seconds(double engine_seconds);

  /// Returns the sum of all engine seconds. Not thread-safe: call it after the workers have ended.
  double engine_seconds() const { return engine_seconds_; }

 private:
  bool add_score(const Record& record);  ///< returns false if this run does not request the method

  const EvalHooks& hooks_;
  double work_;       ///< work of all requested answers that are not complete yet
  double found_ = 0;  ///< work of the requested answers that an earlier run has computed
  std::mutex mutex_;
  EvalProgress progress_;
  double engine_seconds_ = 0;
};

}  // namespace longhaul
