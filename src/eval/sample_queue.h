#pragma once
// SampleQueue returns all samples of a run one after another. It makes the samples of a task and
// length only when they are needed.

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
  /// before the run begins.
  SampleQueue(const EvalSettings& settings, std::span<const PlannedTask> tasks,
              const PromptComposer& composer, const EvalData& data);

  /// Makes the first sample of each task and length for which `wanted` returns true, in addition to
  /// the samples of the constructor. Call it before next().
  void plan_first(const std::function<bool(const PlannedTask& task, int64_t length)>& wanted);
  /// Returns the samples made so far. Call it before next().
  std::vector<QueuedSample> planned() const;
  /// Returns the names of the tasks of which no sample made so far has opening words. Call it
  /// before next().
  std::vector<std::string_view> unopened() const;
  /// Returns whether this run requests an answer with the record's task, length and opening. The
  /// number of samples and the shard are not considered. Call it before next().
  bool asks(const Record& record) const;

  /// Returns the next sample, or nothing after the last one. Thread-safe. If several threads call
  /// it, one of them makes the samples of the next task or length while others still work on
  /// earlier samples. If samples cannot be made, next() throws the error when these samples would
  /// come next.
  std::optional<QueuedSample> next();
  /// Returns the seconds that threads have waited in next() for samples that another thread made.
  /// Do not call it while threads use next().
  double waited_seconds() const { return waited_seconds_; }

  /// Returns the work of the record's answer in tokens, or 0 if this run does not request the
  /// answer. Call it before next().
  double work_of(const Record& record) const;

  /// Returns the number of answers to a sample: the number of methods that run it, times the number
  /// of its prompts (openings_of()).
  int64_t answers_of(const Sample& sample) const;
  /// Returns the work of one answer in tokens.
  double work_of(const QueuedSample& queued) const;
  int64_t answers() const { return answers_; }  ///< returns the number of answers of the run
  double work() const { return work_; }

 private:
  /// The samples of one task and length.
  struct Group {
    const PlannedTask* task = nullptr;
    int64_t length = 0;
    /// Whether all samples have been made; if not, at most the first one has been made.
    bool made = false;
    bool making = false;         ///< whether a thread is making the samples
    std::exception_ptr failure;  ///< reason for which the samples cannot be made
    /// The prompts that each sample has, as openings_of() returns them for the first sample. Empty
    /// if the samples can differ in this; openings_of() must then be called for each.
    std::vector<bool> ways;
    bool opened = false;  ///< whether a sample made so far has opening words
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

/// Returns which prompts of a sample are requested: false stands for the prompt without opening
/// words, and true for the prompt with them. If both would be equal, only one is returned.
std::vector<bool> openings_of(const Sample& sample, Openings openings,
                              const PromptComposer& composer);

}  // namespace longhaul
