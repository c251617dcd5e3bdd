#include "eval/runner.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
#include "eval/answer_recall.h"
#include "eval/ask.h"
#include "eval/data.h"
#include "eval/record_writer.h"
#include "eval/sample_queue.h"

namespace longhaul {
namespace {

/// A method, or dense attention on a changed prompt.
struct Contender {
  enum class Reads { kWhole, kNoContext, kMiddleCut };
  std::string name;
  SessionOptions options;
  Reads reads = Reads::kWhole;
  bool dense = false;
  bool shares = false;  ///< begins like dense attention
};

bool begins_densely(const MethodSpec& method, const ModelShape& shape) {
  constexpr PromptFacts kSomePrompt{
      .begin = 0, .tokens = 1 << 20, .instruction = 16, .chunk = 1024};
  try {
    return method.make(shape)->dense_prefix(kSomePrompt) > 0;
  } catch (const UserError&) {  // refused for this model: a record will tell
    return false;
  }
}

/// The settings with each method as this model's profiles make it.
EvalSettings for_model(EvalSettings settings, const ModelShape& shape) {
  std::set<std::string> names;
  for (MethodSpec& method : settings.methods) {
    method = method.for_model(shape);
    const std::string name = method.text();
    if (!names.insert(name).second) user_error("--attention: {} is given twice", name);
  }
  return settings;
}

std::vector<Contender> contenders_of(const EvalSettings& settings, const ModelShape& shape) {
  std::vector<Contender> contenders;
  for (const MethodSpec& method : settings.methods) {
    contenders.push_back({method.text(), settings.session, Contender::Reads::kWhole});
    Contender& contender = contenders.back();
    contender.options.attention = method;
    contender.dense = method.info().name == "dense";
    contender.shares = settings.share_reading && begins_densely(method, shape);
  }
  // Others go on from what dense attention has read.
  std::stable_partition(contenders.begin(), contenders.end(),
                        [](const Contender& contender) { return contender.dense; });
  if (settings.controls) {
    SessionOptions dense = settings.session;
    dense.attention = MethodSpec::parse("dense");
    contenders.push_back({std::string(kNoContext), dense, Contender::Reads::kNoContext});
    contenders.push_back({std::string(kMiddleCut), dense, Contender::Reads::kMiddleCut});
  }
  return contenders;
}

PromptComposer composer_of(const EvalSettings& settings, const Engine& engine) {
  if (settings.raw) return {engine.tokenizer(), std::nullopt};
  return {engine.tokenizer(), engine.chat_template(settings.chat_template)};
}

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
        writer_((begin_run(folder, run_json(settings, *engine, tasks)), folder)) {
    progress_.total = queue_.answers();
    for (const Contender& contender : contenders_) progress_.methods.push_back({contender.name});
    for (const Record& record : writer_.records()) add_score(record);
  }

  /// Takes samples until there are none, or somebody stops the run.
  void work();
  EvalOutcome outcome(double seconds) const;

 private:
  bool stopped() const {
    return failed_ || (hooks_.cancel != nullptr && hooks_.cancel->requested());
  }
  void ask_all(const QueuedSample& queued);
  void ask_one(const QueuedSample& queued, const Contender& contender, const Record& cell,
               const ComposedPrompt& prompt, SharedReading* shared);
  bool worth_sharing(int ways) const;
  ComposedPrompt prompt_of(const QueuedSample& queued, const Contender& contender, bool opening,
                           const ComposedPrompt& whole) const;
  void find_answer(const Sample& sample, ComposedPrompt& prompt) const;
  void add_score(const Record& record);
  bool answered(const QueuedSample& queued, const Record& cell, int64_t tokens) const;
  void count(const QueuedSample& queued, const std::vector<Record>& records, double engine_seconds);

  const std::shared_ptr<const Engine>& engine_;
  const EvalSettings& settings_;
  const EvalHooks& hooks_;
  const std::vector<Contender> contenders_;
  const PromptComposer composer_;
  const EvalData data_;
  SampleQueue queue_;
  RecordWriter writer_;

  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // of what follows
  EvalProgress progress_;
  double work_done_ = 0, engine_seconds_ = 0;
  std::exception_ptr failure_;
};

ComposedPrompt Run::prompt_of(const QueuedSample& queued, const Contender& contender, bool opening,
                              const ComposedPrompt& whole) const {
  switch (contender.reads) {
    case Contender::Reads::kNoContext:
      return composer_.compose(without_context(*queued.sample), opening);
    case Contender::Reads::kMiddleCut: {
      const double kept = settings_.kept_by_cut * static_cast<double>(whole.tokens.size());
      ComposedPrompt cut = cut_middle(whole, static_cast<int64_t>(kept));
      find_answer(*queued.sample, cut);
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

bool Run::answered(const QueuedSample& queued, const Record& cell, int64_t tokens) const {
  if (!queued.sample->perplexity) return writer_.has(cell);
  const std::vector<int64_t> begins = position_stretches(tokens);
  return std::all_of(begins.begin(), begins.end(), [&](int64_t begin) {
    Record stretch = cell;
    stretch.id = stretch_id(cell.id, begin);
    return writer_.has(stretch);
  });
}

void Run::add_score(const Record& record) {
  if (record.metric != "score") return;
  for (EvalProgress::Method& method : progress_.methods) {
    if (method.name != record.method) continue;
    method.sum += record.score;
    method.scored += 1;
  }
}

void Run::count(const QueuedSample& queued, const std::vector<Record>& records,
                double engine_seconds) {
  const std::lock_guard lock(mutex_);
  progress_.done += 1;
  work_done_ += queue_.work_of(queued);
  engine_seconds_ += engine_seconds;
  progress_.share = queue_.work() > 0 ? std::min(1.0, work_done_ / queue_.work()) : 1;
  for (const Record& record : records) add_score(record);
  if (hooks_.progress) hooks_.progress(progress_);
}

void Run::ask_one(const QueuedSample& queued, const Contender& contender, const Record& cell,
                  const ComposedPrompt& prompt, SharedReading* shared) {
  if (answered(queued, cell, static_cast<int64_t>(prompt.tokens.size()))) {
    count(queued, {}, 0);
    return;
  }
  double seconds = 0;
  if (!contender.shares) shared = nullptr;
  const bool read_already =
      shared != nullptr && shared->copy && shared->copy->tokens == prompt.tokens;
  if (shared != nullptr && !contender.dense && !read_already) {
    SessionOptions dense = contender.options;
    dense.attention = MethodSpec::parse("dense");
    seconds = read_shared(engine_, dense, prompt, hooks_.cancel, *shared);
  }
  const Asked asked =
      queued.sample->perplexity
          ? predict(engine_, contender.options, prompt, cell, hooks_.cancel)
          : ask(engine_, contender.options, *queued.sample, prompt, cell, hooks_.cancel, shared);
  if (asked.records.empty()) return;  // cancelled
  writer_.add(asked.records);
  count(queued, asked.records, seconds + asked.engine_seconds);
}

/// Whether several answers to a sample that is asked in so many ways begin with the same reading.
bool Run::worth_sharing(int ways) const {
  const auto sharing = std::count_if(contenders_.begin(), contenders_.end(),
                                     [](const Contender& contender) { return contender.shares; });
  return sharing * ways > 1;
}

void Run::ask_all(const QueuedSample& queued) {
  const Sample& sample = *queued.sample;
  const std::vector<bool> ways = openings_of(sample, settings_.openings);
  SharedReading reading;
  SharedReading* const shared =
      !sample.perplexity && worth_sharing(static_cast<int>(ways.size())) ? &reading : nullptr;
  for (const bool opening : ways) {
    Record cell;
    cell.task = queued.task->name;
    cell.opening = opening;
    cell.length = queued.length;
    cell.id = sample.id;
    cell.group = sample.group;
    cell.depth = sample.depth;
    ComposedPrompt whole = composer_.compose(sample, opening);
    find_answer(sample, whole);
    for (const Contender& contender : contenders_) {
      if (stopped()) return;
      if (sample.perplexity && contender.reads != Contender::Reads::kWhole) continue;
      cell.method = contender.name;
      if (sample.context.empty() && contender.reads != Contender::Reads::kWhole) {
        Record refused = cell;
        refused.error = "the sample has no context apart from its question";
        writer_.add({refused});
        count(queued, {refused}, 0);
        continue;
      }
      ask_one(queued, contender, cell, prompt_of(queued, contender, opening, whole), shared);
    }
  }
}

void Run::work() {
  try {
    while (!stopped()) {
      const std::optional<QueuedSample> queued = queue_.next();
      if (!queued) return;
      ask_all(*queued);
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    failed_ = true;
  }
}

EvalOutcome Run::outcome(double seconds) const {
  if (failure_) std::rethrow_exception(failure_);
  EvalOutcome outcome;
  outcome.records = writer_.records();
  outcome.found = writer_.found();
  outcome.finished = !stopped();
  outcome.seconds = seconds;
  outcome.engine_seconds = engine_seconds_;
  return outcome;
}

}  // namespace

EvalOutcome run_eval(const std::shared_ptr<const Engine>& engine, const EvalSettings& wanted,
                     std::span<const PlannedTask> tasks, const std::filesystem::path& folder,
                     const EvalHooks& hooks) {
  const Stopwatch watch;
  const EvalSettings settings = for_model(wanted, engine->model().shape);
  Run run(engine, settings, tasks, folder, hooks);
  if (settings.parallel <= 1) {
    run.work();
  } else {
    // Inside the pool's loop every kernel runs on its own thread alone: as many answers at a time
    // as there are threads, and no two sessions that wait for each other's loops.
    parallel_for(settings.parallel, [&](int64_t, int) { run.work(); });
  }
  return run.outcome(watch.seconds());
}

}  // namespace longhaul
