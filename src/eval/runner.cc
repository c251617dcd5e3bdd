#include "eval/runner.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
#include "eval/answer_recall.h"
#include "eval/ask.h"
#include "eval/contenders.h"
#include "eval/data.h"
#include "eval/evidence.h"
#include "eval/run_answers.h"
#include "eval/run_progress.h"
#include "eval/sample_queue.h"

namespace longhaul {
namespace {

PromptComposer composer_of(const EvalSettings& settings, const Engine& engine) {
  if (settings.raw) return {engine.tokenizer(), std::nullopt};
  return {engine.tokenizer(), engine.chat_template(settings.chat_template)};
}

/// A method's missing answer to a sample.
struct WantedAnswer {
  const Contender* contender = nullptr;
  Record cell;                             ///< the record's description of the sample
  std::shared_ptr<ComposedPrompt> prompt;  ///< the whole prompt, in this way of asking
};

class Run {
 public:
  Run(const std::shared_ptr<const Engine>& engine, const EvalSettings& settings,
      std::span<const PlannedTask> tasks, const std::filesystem::path& folder,
      const EvalHooks& hooks)
      : engine_(engine),
        settings_(settings),
        hooks_(hooks),
        contenders_(contenders_of(settings, engine->model().shape)),
        composer_(composer_of(settings, *engine)),
        data_(settings.data),
        queue_(settings, tasks, composer_, data_),
        answers_(folder, run_json(settings, *engine, tasks), queue_, composer_, settings.openings),
        progress_(contenders_, queue_.answers(), queue_.work(), hooks) {
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
  void ask_all(const QueuedSample& queued);
  void plan_one_way(const QueuedSample& queued, Record cell, std::vector<WantedAnswer>& wanted);
  void ask_one(const QueuedSample& queued, const WantedAnswer& wanted, SharedReading* shared);
  ComposedPrompt prompt_of(const QueuedSample& queued, const Contender& contender, bool opening,
                           const ComposedPrompt& whole) const;
  void find_answer(const Sample& sample, ComposedPrompt& prompt) const;

  const std::shared_ptr<const Engine>& engine_;
  const EvalSettings& settings_;
  const EvalHooks& hooks_;
  const std::vector<Contender> contenders_;
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

ComposedPrompt Run::prompt_of(const QueuedSample& queued, const Contender& contender, bool opening,
                              const ComposedPrompt& whole) const {
  switch (contender.reads) {
    case Contender::Reads::kQuestionOnly:
      return composer_.compose(without_context(*queued.sample), opening);
    case Contender::Reads::kWithoutMiddle: {
      const double kept = settings_.kept_by_cut * static_cast<double>(whole.tokens.size());
      ComposedPrompt cut = cut_middle(whole, static_cast<int64_t>(kept));
      cut.answer.clear();
      return cut;
    }
    case Contender::Reads::kWhole:
      break;
  }
  return whole;
}

void Run::find_answer(const Sample& sample, ComposedPrompt& prompt) const {
  prompt.answer = answer_tokens(engine_->tokenizer(), prompt, sample.answers);
}

void Run::ask_one(const QueuedSample& queued, const WantedAnswer& wanted, SharedReading* shared) {
  const auto& [contender_at, cell, whole] = wanted;
  const Contender& contender = *contender_at;
  const Sample& sample = *queued.sample;
  const auto refuse = [&, &record = cell](std::string why) {
    Record refused = record;
    refused.error = std::move(why);
    answers_.writer().add({refused});
    progress_.count(queue_.work_of(queued), {refused}, 0);
  };
  if (sample.context.empty() && contender.reads != Contender::Reads::kWhole) {
    return refuse("the sample has no context apart from its question");
  }
  ComposedPrompt prompt = prompt_of(queued, contender, cell.opening, *whole);
  if (contender.shown_evidence) {
    prompt.evidence = evidence_tokens(engine_->tokenizer(), prompt, sample.answers);
    if (prompt.evidence.empty()) return refuse("no sentence of the context holds the answer");
  }
  if (settings_.simulated > 0) {
    prompt.generated = std::min<int64_t>(settings_.simulated, std::ssize(prompt.tokens) - 1);
    shared = nullptr;
  }
  double seconds = 0;
  if (shared != nullptr && shared->no_room) shared = nullptr;
  const bool read_already =
      shared != nullptr && shared->copy && shared->copy->tokens == prompt.tokens;
  if (shared != nullptr && !contender.dense && !read_already) {
    SessionOptions dense = contender.options;
    dense.attention = MethodSpec::parse("dense");
    seconds = read_shared(engine_, dense, prompt, hooks_.cancel, *shared);
  }
  const Asked asked = sample.perplexity
                          ? predict(engine_, contender.options, prompt, cell, hooks_.cancel)
                          : ask(engine_, contender.options, sample, prompt, cell, hooks_.cancel,
                                shared, settings_.sources);
  if (asked.records.empty()) return progress_.add_seconds(seconds + asked.engine_seconds);
  answers_.writer().add(asked.records);
  progress_.count(queue_.work_of(queued), asked.records, seconds + asked.engine_seconds);
}

/// Adds the missing answers. If none are missing and the sample is known to be unchanged, it is not
/// even tokenized.
void Run::plan_one_way(const QueuedSample& queued, Record cell, std::vector<WantedAnswer>& wanted) {
  const Sample& sample = *queued.sample;
  const FoundPrompt* found = answers_.found_prompt(sample, cell);
  std::vector<const Contender*> left;
  for (const Contender& contender : contenders_) {
    if (!concerns(contender, sample)) continue;
    cell.method = contender.name;
    if (found != nullptr && answers_.answered(sample, cell, *found)) {
      progress_.count(queue_.work_of(queued), {}, 0);
    } else {
      left.push_back(&contender);
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
  for (const Contender* contender : left) {
    cell.method = contender->name;
    wanted.push_back({contender, cell, whole});
  }
}

/// Methods that share a prefill come first, so that it is not kept in memory beside the others.
void Run::ask_all(const QueuedSample& queued) {
  const Sample& sample = *queued.sample;
  std::vector<WantedAnswer> wanted;
  for (const bool opening : openings_of(sample, settings_.openings, composer_)) {
    plan_one_way(queued, cell_of(queued, opening), wanted);
  }
  const auto own = std::stable_partition(wanted.begin(), wanted.end(),
                                         [](const WantedAnswer& w) { return w.contender->shares; });
  SharedReading reading;
  const bool share = !sample.perplexity && own - wanted.begin() > 1;
  for (auto w = wanted.begin(); w != wanted.end(); ++w) {
    if (stopped()) return;
    if (w == own) reading = {};
    ask_one(queued, *w, share && w < own ? &reading : nullptr);
  }
}

void Run::work() {
  const Stopwatch watch;
  std::exception_ptr failure;
  try {
    while (!stopped()) {
      const std::optional<QueuedSample> queued = queue_.next();
      if (!queued) break;
      ask_all(*queued);
    }
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
