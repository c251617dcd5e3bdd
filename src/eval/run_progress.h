#pragma once
// Progress of a run, reported after every answer.

#include <mutex>
#include <vector>

#include "eval/runner.h"
#include "eval/tested_methods.h"

namespace longhaul {

class RunProgress {
 public:
  /// `answers`: number of requested answers; `work`: their total cost, in tokens read
  /// (SampleQueue::work_of). `hooks` must outlive this object.
  RunProgress(const std::vector<TestedMethod>& tested_methods, int64_t answers, double work,
              const EvalHooks& hooks);

  /// Adds an answer of an earlier run. It counts in the running score, and its `work` is subtracted
  /// from the remaining work (0: this run does not request the answer). Call before the first
  /// count().
  void add_found(const Record& record, double work);
  /// Adds an answer with its new records and the engine's seconds for it. There are no new records
  /// if an earlier run has the answer. Thread-safe.
  void count(double work, const std::vector<Record>& records, double engine_seconds);

  /// Adds the engine's seconds for an answer that was cancelled. Thread-safe.
  void add_seconds(double engine_seconds);

  /// Not thread-safe: call after the workers have ended.
  double engine_seconds() const { return engine_seconds_; }

 private:
  bool add_score(const Record& record);  ///< returns false if the method is not requested

  const EvalHooks& hooks_;
  double work_;       ///< work of all requested answers that have not been passed yet
  double found_ = 0;  ///< part of it that was found
  std::mutex mutex_;
  EvalProgress progress_;
  double engine_seconds_ = 0;
};

}  // namespace longhaul
