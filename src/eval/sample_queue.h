#pragma once
// All samples of a run in the order in which they are asked, made when their turn comes.

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
  int64_t length = 0;  ///< 0: the sample's own
  std::shared_ptr<const Sample> sample;
};

class SampleQueue {
 public:
  /// Makes one sample of every task at its shortest length, so that what is missing is refused
  /// before the run.
  SampleQueue(const EvalSettings& settings, std::span<const PlannedTask> tasks,
              const PromptComposer& composer, const EvalData& data);

  /// Makes the first sample also of those lengths of tasks that are wanted. Before next().
  void plan_first(const std::function<bool(const PlannedTask& task, int64_t length)>& wanted);
  /// Those that have been made. Before next().
  std::vector<QueuedSample> planned() const;
  /// Tasks of which no sample has opening words, in their order. Before next().
  std::vector<std::string_view> unopened() const;
  /// Whether this run asks for what was answered in the record, however many samples it asks for.
  /// Before next().
  bool asks(const Record& record) const;

  /// The next one, for any thread; none after the last. Where several threads take samples, one of
  /// them makes those of the next length or task while the others still have some. If samples
  /// cannot be made, the error is thrown when their turn comes.
  std::optional<QueuedSample> next();
  /// Seconds that all threads have waited in next() for samples that another thread made. Not to be
  /// called while threads take samples.
  double waited_seconds() const { return waited_seconds_; }

  /// Work of the answer that the record is of; 0 where this run does not ask for it. Before next().
  double work_of(const Record& record) const;

  /// Answers that a sample needs: methods times ways of asking.
  int64_t answers_of(const Sample& sample) const;
  /// Work of one answer, in tokens read.
  double work_of(const QueuedSample& queued) const;
  int64_t answers() const { return answers_; }  ///< of the whole run
  double work() const { return work_; }

 private:
  struct Group {
    const PlannedTask* task = nullptr;
    int64_t length = 0;
    bool made = false;           ///< all samples are there; else perhaps the first
    bool making = false;         ///< by some thread
    std::exception_ptr failure;  ///< why they cannot be made
    std::vector<bool> ways;      ///< in which they are asked; empty: each in its own
    bool opened = false;         ///< some sample that is known has opening words
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
  size_t group_ = 0, sample_ = 0;  ///< the next one
  double waited_seconds_ = 0;
  int64_t answers_ = 0;
  double work_ = 0;
};

/// The ways in which a sample is asked: without its opening words, with them, or both; only one
/// where both would give the same prompt.
std::vector<bool> openings_of(const Sample& sample, Openings openings,
                              const PromptComposer& composer);

}  // namespace longhaul
