#include "eval/runner.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
#include "eval/answer_recall.h"
#include "eval/ask.h"
#include "eval/data.h"
#include "eval/evidence.h"
#include "eval/run_answers.h"
#include "eval/run_progress.h"
#include "eval/sample_queue.h"
#include "eval/tested_methods.h"

namespace longhaul {
namespace {

PromptComposer composer_of(const EvalSettings& settings, const Engine& engine) {
  if (settings.raw) return {engine.tokenizer(), std::nullopt};
  return {engine.tokenizer(), engine.chat_template(settings.chat_template)};
}

/// A method's missing answer to a sample.
struct WantedAnswer {
  const TestedMethod* tested_method = nullptr;
  Record cell;                             ///< the record's description of the sample
  std::shared_ptr<ComposedPrompt> prompt;  ///< the whole prompt, in this way of asking
};

/// Answers of one thread whose replies are generated together, in the order in which they were
/// asked. They are finished in that order.
class OpenAnswers {
 public:
  using Done = std::function<void(double work, const Asked& asked)>;
  /// `seconds` is called with the time of every step that all replies share.
  OpenAnswers(const std::shared_ptr<const Engine>& engine, const SessionOptions& options, int most,
              Done done, std::function<void(double)> seconds)
      : runner_(engine, options.queue, options.compute),
        most_(most),
        done_(std::move(done)),
        seconds_(std::move(seconds)) {}

  /// Reads the prompt and begins the reply. First ends as many others as must make room.
  void add(double work, Answering answering, SharedReading* shared, double seconds) {
    while (running() >= most_) advance();
    while (running() > 0 && !answering.has_room(kv_bytes())) advance();
    answering.read(runner_, shared, kv_bytes());
    open_.push_back({work, seconds, std::move(answering), {}});
    if (most_ == 1) end_all();
  }
  /// An answer that is complete, to be finished after those before it.
  void add(double work, Asked asked) {
    open_.push_back({work, 0, std::nullopt, std::move(asked)});
    finish_first();
  }
  ModelRunner& runner() { return runner_; }
  void end_all() {
    while (running() > 0) advance();
    finish_first();
  }

 private:
  struct Open {
    double work = 0, seconds = 0;
    std::optional<Answering> answering;
    Asked asked;  ///< if there is nothing to generate
    bool ended() const { return !answering || answering->ended(); }
  };

  int running() const {
    return static_cast<int>(std::ranges::count_if(open_, [](const Open& o) { return !o.ended(); }));
  }
  size_t kv_bytes() const {
    size_t bytes = 0;
    for (const Open& open : open_) bytes += open.answering ? open.answering->kv_bytes() : 0;
    return bytes;
  }
  void advance() {
    const Stopwatch watch;
    std::vector<RunningReply> replies;
    std::vector<RunningReply*> of;
    for (Open& open : open_) {
      if (open.ended()) continue;
      of.push_back(open.answering->reply());
      replies.push_back(*of.back());
    }
    advance_together(runner_, replies);
    for (size_t i = 0; i < of.size(); ++i) *of[i] = replies[i];
    seconds_(watch.seconds());
    finish_first();
  }
  void finish_first() {
    for (; !open_.empty() && open_.front().ended(); open_.pop_front()) {
      Open& first = open_.front();
      if (first.answering) {
        first.asked = first.answering->finish();
        first.asked.engine_seconds += first.seconds;
      }
      done_(first.work, first.asked);
    }
  }

  ModelRunner runner_;
  int most_;
  Done done_;
  std::function<void(double)> seconds_;
  std::deque<Open> open_;
};

/// The dense prefill of a context about which several samples ask (Sample::shares_context).
struct KeptContext {
  std::string context;
  SharedReading reading;
};

class Run {
 public:
  Run(const std::shared_ptr<const Engine>& engine, const EvalSettings& settings,
      std::span<const PlannedTask> tasks, const std::filesystem::path& folder,
      const EvalHooks& hooks)
      : engine_(engine),
        settings_(settings),
        hooks_(hooks),
        tested_methods_(tested_methods_of(settings, engine->model().shape)),
        composer_(composer_of(settings, *engine)),
        data_(settings.data),
        queue_(settings, tasks, composer_, data_),
        answers_(folder, run_json(settings, *engine, tasks), queue_, composer_, settings.openings),
        progress_(tested_methods_, queue_.answers(), queue_.work(), hooks) {
    warn_of_unopened();
    for (const Record& record : answers_.writer().records()) {
      if (queue_.asks(record)) progress_.add_found(record, queue_.work_of(record));
    }
  }

  /// Takes samples until none are left, or the run is stopped.
  void work();
  EvalOutcome outcome() const;
  void finish() { answers_.finish(); }
  /// Total of all threads in work(), without waiting for samples. Call when they are done.
  double busy_seconds() const { return in_work_seconds_ - queue_.waited_seconds(); }

 private:
  bool stopped() const { return failed_ || requested(hooks_.cancel); }
  void warn_of_unopened() const;
  void ask_all(const QueuedSample& queued, KeptContext& kept, OpenAnswers& open);
  void plan_one_way(const QueuedSample& queued, Record cell, std::vector<WantedAnswer>& wanted);
  void ask_one(const QueuedSample& queued, const WantedAnswer& wanted, SharedReading* shared,
               OpenAnswers& open);
  void note(double work, const Asked& asked);
  ComposedPrompt prompt_of(const QueuedSample& queued, const TestedMethod& tested_method,
                           bool opening, const ComposedPrompt& whole) const;
  void find_answer(const Sample& sample, ComposedPrompt& prompt) const;

  const std::shared_ptr<const Engine>& engine_;
  const EvalSettings& settings_;
  const EvalHooks& hooks_;
  const std::vector<TestedMethod> tested_methods_;
  const PromptComposer composer_;
  const EvalData data_;
  SampleQueue queue_;
  RunAnswers answers_;
  RunProgress progress_;

  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // guards the following members
  double in_work_seconds_ = 0;
  std::exception_ptr failure_;
};

void Run::warn_of_unopened() const {
  const std::vector<std::string_view> names = queue_.unopened();
  if (settings_.openings != Openings::kOn || names.empty()) return;
  warn("--opening on: no opened form, so asked without: {}", fmt::join(names, ", "));
}

ComposedPrompt Run::prompt_of(const QueuedSample& queued, const TestedMethod& tested_method,
                              bool opening, const ComposedPrompt& whole) const {
  switch (tested_method.reads) {
    case TestedMethod::Reads::kQuestionOnly:
      return composer_.compose(without_context(*queued.sample), opening);
    case TestedMethod::Reads::kWithoutMiddle: {
      const double kept = settings_.kept_by_cut * static_cast<double>(whole.tokens.size());
      ComposedPrompt cut = cut_middle(whole, static_cast<int64_t>(kept));
      cut.answer.clear();
      return cut;
    }
    case TestedMethod::Reads::kWhole:
      break;
  }
  return whole;
}

void Run::find_answer(const Sample& sample, ComposedPrompt& prompt) const {
  prompt.answer = answer_tokens(engine_->tokenizer(), prompt, sample.answers);
}

void Run::note(double work, const Asked& asked) {
  if (asked.records.empty()) return progress_.add_seconds(asked.engine_seconds);
  answers_.writer().add(asked.records);
  progress_.count(work, asked.records, asked.engine_seconds);
}

void Run::ask_one(const QueuedSample& queued, const WantedAnswer& wanted, SharedReading* shared,
                  OpenAnswers& open) {
  const auto& [tested_method_at, cell, whole] = wanted;
  const TestedMethod& tested_method = *tested_method_at;
  const Sample& sample = *queued.sample;
  const auto refuse = [&, &record = cell](std::string why) {
    Record refused = record;
    refused.error = std::move(why);
    open.add(queue_.work_of(queued), {.records = {refused}});
  };
  if (sample.context.empty() && tested_method.reads != TestedMethod::Reads::kWhole) {
    return refuse("the sample has no context apart from its question");
  }
  ComposedPrompt prompt = prompt_of(queued, tested_method, cell.opening, *whole);
  if (tested_method.shown_evidence) {
    prompt.evidence = evidence_tokens(engine_->tokenizer(), prompt, sample.answers);
    if (prompt.evidence.empty()) return refuse("no sentence of the context holds the answer");
  }
  if (settings_.simulated > 0) {
    prompt.generated = std::min<int64_t>(settings_.simulated, std::ssize(prompt.tokens) - 1);
    shared = nullptr;
  }
  double seconds = 0;
  // A shared prefill reads all of the prompt at once.
  if (prompt.read_first > 0 || (shared != nullptr && shared->no_room)) shared = nullptr;
  const bool read_already =
      shared != nullptr && shared->copy && shared->copy->tokens == prompt.tokens;
  if (shared != nullptr && !tested_method.dense && !read_already) {
    SessionOptions dense = tested_method.options;
    dense.attention = MethodSpec::parse("dense");
    seconds = read_shared(engine_, open.runner(), dense, prompt, hooks_.cancel, *shared);
  }
  const double work = queue_.work_of(queued);
  if (sample.perplexity) {
    return open.add(
        work, predict(engine_, open.runner(), tested_method.options, prompt, cell, hooks_.cancel));
  }
  open.add(work,
           Answering(engine_, tested_method.options, queued.sample, std::move(prompt), cell,
                     hooks_.cancel, settings_.sources),
           shared, seconds);
}

/// Adds the missing answers. If none are missing and the sample is known to be unchanged, it is not
/// even tokenized.
void Run::plan_one_way(const QueuedSample& queued, Record cell, std::vector<WantedAnswer>& wanted) {
  const Sample& sample = *queued.sample;
  const FoundPrompt* found = answers_.found_prompt(sample, cell);
  std::vector<const TestedMethod*> left;
  for (const TestedMethod& tested_method : tested_methods_) {
    if (!concerns(tested_method, sample)) continue;
    cell.method = tested_method.name;
    if (found != nullptr && answers_.answered(sample, cell, *found)) {
      progress_.count(queue_.work_of(queued), {}, 0);
    } else {
      left.push_back(&tested_method);
    }
  }
  if (left.empty() && found != nullptr && !found->sample_hash.empty()) return;
  const bool goes_on = cell.opening && !wanted.empty() && !wanted.back().cell.opening;
  const auto whole =
      std::make_shared<ComposedPrompt>(goes_on ? composer_.opened(sample, *wanted.back().prompt)
                                               : composer_.compose(sample, cell.opening));
  if (found != nullptr) answers_.check_prompt(*found, cell, whole->tokens);
  if (left.empty()) return;
  find_answer(sample, *whole);
  for (const TestedMethod* tested_method : left) {
    cell.method = tested_method->name;
    wanted.push_back({tested_method, cell, whole});
  }
}

/// Methods that share a prefill come first, so that it is not kept in memory beside the others.
void Run::ask_all(const QueuedSample& queued, KeptContext& kept, OpenAnswers& open) {
  const Sample& sample = *queued.sample;
  std::vector<WantedAnswer> wanted;
  for (const bool opening : openings_of(sample, settings_.openings, composer_)) {
    plan_one_way(queued, cell_of(queued, opening), wanted);
  }
  const auto own = std::stable_partition(
      wanted.begin(), wanted.end(), [](const WantedAnswer& w) { return w.tested_method->shares; });
  if (!sample.shares_context || kept.context != sample.context) kept = {sample.context, {}};
  const bool share = !sample.perplexity && (sample.shares_context || own - wanted.begin() > 1);
  for (auto w = wanted.begin(); w != wanted.end(); ++w) {
    if (stopped()) return;
    if (w == own) kept.reading = {};
    ask_one(queued, *w, share && w < own ? &kept.reading : nullptr, open);
  }
  if (!sample.shares_context) kept = {};
}

void Run::work() {
  const Stopwatch watch;
  std::exception_ptr failure;
  try {
    OpenAnswers open(
        engine_, settings_.session, settings_.parallel > 1 ? 1 : settings_.together,
        [this](double work, const Asked& asked) { note(work, asked); },
        [this](double seconds) { progress_.add_seconds(seconds); });
    KeptContext kept;
    while (!stopped()) {
      const std::optional<QueuedSample> queued = queue_.next();
      if (!queued) break;
      ask_all(*queued, kept, open);
    }
    open.end_all();
  } catch (...) {
    failure = std::current_exception();
    failed_ = true;
  }
  const std::lock_guard lock(mutex_);
  in_work_seconds_ += watch.seconds();
  if (!failure_) failure_ = failure;
}

EvalOutcome Run::outcome() const {
  if (failure_) std::rethrow_exception(failure_);
  EvalOutcome outcome;
  outcome.records = answers_.writer().records();
  outcome.found = answers_.writer().found();
  outcome.finished = !stopped();
  outcome.engine_seconds = progress_.engine_seconds();
  return outcome;
}

}  // namespace

EvalOutcome run_eval(const std::shared_ptr<const Engine>& engine, const EvalSettings& wanted,
                     std::span<const PlannedTask> tasks, const std::filesystem::path& folder,
                     const EvalHooks& hooks) {
  const Stopwatch watch;
  const EvalSettings settings = for_model(wanted, engine->model().shape, tasks);
  Run run(engine, settings, tasks, folder, hooks);
  const double made_ready = watch.seconds();
  if (settings.parallel <= 1) {
    run.work();
  } else {
    // Inside the pool's loop every kernel runs on its own thread only: as many answers at a time as
    // there are threads, and no sessions that wait for each other's loops.
    parallel_for(settings.parallel, [&](int64_t, int) { run.work(); });
  }
  const double seconds = watch.seconds();
  EvalOutcome outcome = run.outcome();
  if (outcome.finished) run.finish();
  outcome.seconds = seconds;
  const double all_threads = seconds * std::max(1, settings.parallel);
  outcome.idle_seconds = std::max(0.0, all_threads - made_ready - run.busy_seconds());
  return outcome;
}

}  // namespace longhaul
