#pragma once
// All samples of a run in order, made on demand.

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "eval/compose.h"
#include "eval/data.h"
#include "eval/record.h"
#include "eval/run_settings.h"

namespace longhaul {

struct QueuedSample {
  const PlannedTask* task = nullptr;
  int64_t length = 0;  ///< 0: the sample's own length
  std::shared_ptr<const Sample> sample;
};

class SampleQueue {
 public:
  /// Makes one sample of every task at its shortest length, so that missing data are reported
  /// before the run.
  SampleQueue(const EvalSettings& settings, std::span<const PlannedTask> tasks,
              const PromptComposer& composer, const EvalData& data);

  /// Also makes the first sample of the wanted lengths of tasks. Call before next().
  void plan_first(const std::function<bool(const PlannedTask& task, int64_t length)>& wanted);
  /// The samples made so far. Call before next().
  std::vector<QueuedSample> planned() const;
  /// Tasks without any sample with opening words, in order. Call before next().
  std::vector<std::string_view> unopened() const;
  /// Whether this run requests the record's answer, ignoring the number of samples. Call before
  /// next().
  bool asks(const Record& record) const;

  /// The next sample; none after the last. Thread-safe. With several threads, one of them makes the
  /// samples of the next length or task while the others still have some. If samples cannot be
  /// made, the error is thrown when their turn comes.
  std::optional<QueuedSample> next();
  /// Seconds that all threads have waited in next() for samples made by another thread. Do not call
  /// while threads take samples.
  double waited_seconds() const { return waited_seconds_; }

  /// Work of the record's answer; 0 if this run does not request it. Call before next().
  double work_of(const Record& record) const;

  /// Number of answers for a sample: methods times ways of asking.
  int64_t answers_of(const Sample& sample) const;
  /// Work of one answer, in tokens read.
  double work_of(const QueuedSample& queued) const;
  int64_t answers() const { return answers_; }  ///< total of the run
  double work() const { return work_; }

 private:
  struct Group {
    const PlannedTask* task = nullptr;
    int64_t length = 0;
    bool made = false;           ///< all samples are made; otherwise at most the first
    bool making = false;         ///< by some thread
    std::exception_ptr failure;  ///< why they cannot be made
    std::vector<bool> ways;      ///< requested openings; empty: each sample's own
    bool opened = false;         ///< at least one known sample has opening words
    std::vector<std::shared_ptr<const Sample>> samples;
  };

  std::vector<Sample> make(const PlannedTask& task, int64_t length, int samples) const;
  void plan(const PlannedTask& task);
  void plan_fixed(const PlannedTask& task);
  void fill(Group& group, std::unique_lock<std::mutex>& lock);
  void look_ahead(std::unique_lock<std::mutex>& lock);

  const EvalSettings& settings_;
  const PromptComposer& composer_;
  const EvalData& data_;
  std::mutex mutex_;
  std::condition_variable filled_;
  std::vector<Group> groups_;
  size_t group_ = 0, sample_ = 0;  ///< position of the next sample
  double waited_seconds_ = 0;
  int64_t answers_ = 0;
  double work_ = 0;
};

/// The requested openings of a sample: without its opening words, with them, or both; only one if
/// both would give the same prompt.
std::vector<bool> openings_of(const Sample& sample, Openings openings,
                              const PromptComposer& composer);

}  // namespace longhaul
