#pragma once
// One prompt and its reply on their way through the engine's thread. The caller's thread makes a
// job, submits it and waits for what it gives; the engine's thread does the work.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/clock.h"
#include "engine/generate.h"
#include "engine/model_runner.h"
#include "engine/prefill.h"
#include "engine/prefill_time.h"
#include "engine/sequence.h"
#include "engine/sources.h"

namespace longhaul::python {

/// The runners of one opened model. They are made and used by the engine's thread only.
struct Runners {
  Runners(const std::shared_ptr<const Engine>& engine, const Queue& queue, Compute compute)
      : prompts(engine, queue, compute),
        short_prompts(engine, queue, compute),
        replies(engine, queue, compute) {}
  ModelRunner prompts, short_prompts, replies;
};

/// A model with its settings. The settings do not change after it was opened.
struct OpenModel {
  OpenModel() = default;
  ~OpenModel();

  std::shared_ptr<const Engine> engine;
  SessionOptions options;  ///< those of new sequences
  std::string name;
  std::unique_ptr<Runners> runners;  ///< made with the first prompt
  std::unique_ptr<Sequence> scored;  ///< the context of the last score_continuations()
};

struct JobProgress {
  int64_t done = 0, total = 0;
  double seconds_left = 0;
};

class PromptJob {
 public:
  /// Makes the sequence with as much of `prompt` as is known already. Called once, on the engine's
  /// thread.
  using Opener = std::function<std::unique_ptr<Sequence>(const std::vector<int32_t>& prompt)>;

  // Set by the caller before the job is submitted.
  std::shared_ptr<OpenModel> model;
  Opener open;
  std::vector<int32_t> prompt;
  int64_t instruction = 0;
  std::optional<GenerateOptions> reply;  ///< none: the prompt is only read
  bool keeps_sequence = false;           ///< the sequence is handed over when the job has ended
  uint64_t group = 0;                    ///< jobs of one call, which are decoded together
  std::function<void(int64_t first, int64_t rows, const float* logits)> all_logits;
  std::shared_ptr<SourceWatch> watch;  ///< follows the reply's sources if it is set
  AttentionObserver observer;

  CancelFlag cancel;

  // Written by the engine's thread; read by the caller after the job has ended.
  std::unique_ptr<Sequence> sequence;
  Reply result;
  SessionReport report;
  int64_t reused = 0;  ///< tokens of the prompt that were not read again
  double wait_seconds = 0, prefill_seconds = 0;

  // For the caller's thread.
  struct Event {
    enum class Kind : uint8_t { kNothing, kText, kProgress, kEnded };
    Kind kind = Kind::kNothing;
    std::string text;
    JobProgress progress;
  };
  /// The next event, or kNothing after `most` without one.
  Event next(std::chrono::milliseconds most);
  /// Drops pieces of text, those that wait and those to come: the caller reads `result` alone. The
  /// reply never waits for its reader then, and the reader sleeps until the end.
  void skip_text();
  bool ended() const;
  /// Waits until the engine's thread is done with the job.
  void wait_ended();
  /// Rethrows the error that ended the job, if any.
  void check() const;

 private:
  friend class EngineThread;
  static constexpr size_t kMostPieces = 256;

  enum class State : uint8_t { kWaiting, kPrefilling, kDecoding, kEnded };
  /// Whether the caller has left so much text unread that the reply waits.
  bool paused() const;
  void show(std::string_view text);
  void show(int64_t done, int64_t total);
  void end(std::exception_ptr error);

  // The engine's thread only.
  State state_ = State::kWaiting;
  std::unique_ptr<Prefill> prefill_;
  std::unique_ptr<Generation> generation_;
  std::unique_ptr<PrefillTime> time_;
  std::optional<Stopwatch> prefill_watch_;
  Stopwatch since_submitted_;
  double last_shown_ = -1;

  // Both.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> pieces_;
  bool skips_text_ = false;
  std::optional<JobProgress> progress_;
  bool ended_ = false;
  std::exception_ptr error_;
  std::function<void()> on_read_;  ///< called when a paused reply may go on
};

}  // namespace longhaul::python
