#include "eval/ask.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>

#include "base/clock.h"
#include "base/error.h"
#include "engine/generate.h"
#include "engine/passages.h"
#include "engine/perplexity.h"
#include "engine/sources.h"
#include "eval/answer_recall.h"
#include "eval/scorers.h"

namespace longhaul {
namespace {

constexpr int64_t kFirstStretch = 1024;

/// Runs `work`; a UserError for this sample is stored in the record, and the run continues.
template <class Work>
void note_errors(Record& record, Work&& work) {
  try {
    work();
  } catch (const UserError& error) {
    record.error = error.what();
  } catch (const std::bad_alloc&) {
    record.error = "out of memory";
  }
}

/// Fills in the record's source_rank and source_share from the passages of the context that
/// `reply`, the tokens after the prompt, attended to (engine/passages.h).
void note_sources(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                  const SourceWatch& watch, std::span<const int32_t> reply, Record& record) {
  constexpr size_t kMost = 10;
  std::string context;
  for (int64_t i = prompt.context_begin; i < prompt.context_end; ++i) {
    context += tokenizer.piece(prompt.tokens[static_cast<size_t>(i)]);
  }
  const PassageFinder finder(tokenizer, prompt.tokens, {context});
  const auto passages = finder.passages(watch, reply, 0, reply.size(), kMost);
  record.source_share = passages.empty() ? 0 : std::min(1.0, passages.front().share);
  if (prompt.answer.empty()) return;
  const auto found = std::ranges::find_if(passages, [&](const Passage& passage) {
    return std::ranges::any_of(prompt.answer,
                               [&](int64_t token) { return finder.holds(passage, token); });
  });
  record.source_rank = found == passages.end() ? 0 : 1 + (found - passages.begin());
}

struct Reading {
  bool finished = false;
  double spent = 0;    ///< seconds spent in this call
  double seconds = 0;  ///< including the shared reading
};

/// Continues from `shared`, if there is memory for it and for the rows of the sequence beside
/// `others` bytes of other sequences.
Reading read_into(Sequence& sequence, ModelRunner& runner, const ComposedPrompt& prompt,
                  int64_t reply, const CancelFlag* cancel, SharedReading* shared, size_t others) {
  const Stopwatch watch;
  if (shared != nullptr && shared->copy &&
      !sequence.has_room(std::ssize(prompt.tokens), reply, shared->copy->bytes() + others)) {
    shared->copy.reset();
    shared->no_room = true;
  }
  const bool goes_on = shared != nullptr && shared->copy.has_value();
  const auto whole = std::span<const int32_t>(prompt.tokens);
  const auto tail = whole.last(static_cast<size_t>(prompt.generated));
  const auto read = whole.first(whole.size() - tail.size());
  const int64_t instruction = std::max<int64_t>(0, prompt.instruction - std::ssize(tail));
  const int64_t taken = goes_on ? sequence.begin_with(*shared->copy, read, instruction) : 0;
  PrefillHooks hooks;
  hooks.evidence = prompt.evidence;
  hooks.reply = reply;
  hooks.cancel = cancel;
  Reading reading{.finished = true};
  const auto first = static_cast<size_t>(std::max(taken, prompt.read_first));
  if (prompt.read_first > taken) {
    reading.finished = prefill(sequence, runner, read.first(first), hooks);
  }
  hooks.instruction = instruction;
  reading.finished = reading.finished && prefill(sequence, runner, read.subspan(first), hooks);
  for (const int32_t token : tail) {
    reading.finished = reading.finished && !requested(cancel);
    if (reading.finished) runner.decode(sequence, token);
  }
  reading.spent = watch.seconds();
  reading.seconds = reading.spent + (taken > 0 ? shared->seconds : 0);
  return reading;
}

bool is_dense(const SessionOptions& options) { return options.attention.info().name == "dense"; }

void note_costs(Record& record, const SessionReport& report) {
  record.pairs_share = report.pairs_share;
  record.attention_seconds = report.attention_seconds;
}

}  // namespace

double read_shared(const std::shared_ptr<const Engine>& engine, ModelRunner& runner,
                   const SessionOptions& options, const ComposedPrompt& prompt,
                   const CancelFlag* cancel, SharedReading& shared) {
  const Stopwatch watch;
  try {
    Sequence sequence(engine, options);
    const Reading reading = read_into(sequence, runner, prompt, 0, cancel, &shared, 0);
    if (reading.finished) {
      shared.copy.emplace(sequence.copy_context());
      shared.seconds = reading.seconds;
    }
  } catch (const UserError&) {       // each method will report it in its own record
  } catch (const std::bad_alloc&) {  // likewise; some methods need less memory than this reading
  }
  return watch.seconds();
}

struct Answering::State {
  State(const std::shared_ptr<const Engine>& e, const SessionOptions& o,
        std::shared_ptr<const Sample> s, ComposedPrompt p, const Record& cell, const CancelFlag* c)
      : engine(e),
        options(o),
        sample(std::move(s)),
        prompt(std::move(p)),
        cancel(c),
        record(cell),
        recall(prompt.answer, engine->model().shape.layers, std::ssize(prompt.tokens)) {
    record.prompt_hash = prompt_hash(prompt.tokens);
    record.prompt_tokens = std::ssize(prompt.tokens);
    record.expected = sample->answers;
  }

  const std::shared_ptr<const Engine>& engine;
  SessionOptions options;
  std::shared_ptr<const Sample> sample;
  ComposedPrompt prompt;
  const CancelFlag* cancel;
  Record record;
  AnswerRecall recall;
  std::optional<SourceWatch> watch;
  std::optional<Sequence> sequence;
  std::optional<Generation> generation;
  RunningReply running;
  double spent = 0;  ///< seconds of reading
  bool cancelled = false;
};

Answering::Answering(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
                     std::shared_ptr<const Sample> sample, ComposedPrompt prompt,
                     const Record& cell, const CancelFlag* cancel, bool sources)
    : state_(std::make_unique<State>(engine, options, std::move(sample), std::move(prompt), cell,
                                     cancel)) {
  State& s = *state_;
  const ModelShape& shape = engine->model().shape;
  if (sources && s.prompt.context_begin < s.prompt.context_end) {
    s.watch.emplace(shape, heads_to_watch(shape), s.record.prompt_tokens);
  }
}
Answering::~Answering() = default;
Answering::Answering(Answering&&) noexcept = default;

bool Answering::has_room(size_t others) {
  State& s = *state_;
  bool room = true;  // for the error message, if the method refuses
  note_errors(s.record, [&] {
    if (!s.sequence) s.sequence.emplace(s.engine, s.options);
    room = s.sequence->has_room(s.record.prompt_tokens, s.sample->max_tokens, others);
  });
  return room;
}

void Answering::read(ModelRunner& runner, SharedReading* shared, size_t others) {
  State& s = *state_;
  note_errors(s.record, [&] {
    if (!s.sequence) s.sequence.emplace(s.engine, s.options);
    s.sequence->observe([&s](const LayerStep& step, std::span<const AttendTask> tasks) {
      s.recall.observe(step, tasks);
      if (s.watch) s.watch->observe(step, tasks);
    });
    const Reading reading =
        read_into(*s.sequence, runner, s.prompt, s.sample->max_tokens, s.cancel, shared, others);
    s.spent = reading.spent;
    s.cancelled = !reading.finished;
    if (s.cancelled) return;
    s.record.prefill_seconds = reading.seconds;
    if (shared != nullptr && is_dense(s.options)) {
      shared->copy.emplace(s.sequence->copy_context());
      shared->seconds = reading.seconds;
    }
    s.record.kv_bytes = static_cast<int64_t>(s.sequence->report().kv_bytes);
    GenerateOptions options;
    options.sampler.temperature = 0;
    options.max_tokens = s.sample->max_tokens;
    options.stop = s.sample->stop;
    options.cancel = s.cancel;
    s.generation.emplace(*s.sequence, options);
    s.running = {&*s.sequence, &*s.generation};
  });
}

RunningReply* Answering::reply() { return state_->generation ? &state_->running : nullptr; }

bool Answering::ended() const {
  return !state_->generation || state_->running.failed || state_->generation->ended();
}

size_t Answering::kv_bytes() const {
  return state_->sequence ? state_->sequence->report().kv_bytes : 0;
}

Asked Answering::finish() {
  State& s = *state_;
  Asked asked;
  asked.engine_seconds = s.spent;
  note_errors(s.record, [&] {
    if (!s.generation) return;
    if (s.running.failed) std::rethrow_exception(s.running.failed);
    const Reply& reply = s.generation->reply();
    asked.reply_seconds = reply.first_token_seconds + reply.decode_seconds;
    s.cancelled = reply.stop == StopReason::kCancelled;
    s.record.reply = reply.text;
    s.record.reply_tokens = std::ssize(reply.tokens);
    s.record.first_token_seconds = s.record.prefill_seconds + reply.first_token_seconds;
    s.record.decode_tokens_per_second = reply.tokens_per_second();
    note_costs(s.record, s.sequence->report());
    s.record.recall = s.recall.by_layer();
    if (s.watch && s.watch->saw_anything()) {
      note_sources(s.engine->tokenizer(), s.prompt, *s.watch, reply.tokens, s.record);
    }
    s.record.score = score_reply(*s.sample, reply.text);
  });
  if (!s.cancelled) asked.records.push_back(std::move(s.record));
  return asked;
}

Asked ask(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
          const Sample& sample, const ComposedPrompt& prompt, const Record& cell,
          const CancelFlag* cancel) {
  ModelRunner runner(engine, options.queue, options.compute);
  Answering answering(engine, options, std::make_shared<const Sample>(sample), prompt, cell,
                      cancel);
  answering.read(runner, nullptr);
  while (!answering.ended()) advance_together(runner, {answering.reply(), 1});
  Asked asked = answering.finish();
  asked.engine_seconds += asked.reply_seconds;
  return asked;
}

std::vector<int64_t> position_stretches(int64_t tokens) {
  std::vector<int64_t> begins{0};
  for (int64_t begin = kFirstStretch; begin < tokens; begin *= 2) begins.push_back(begin);
  return begins;
}

std::string stretch_id(const std::string& sample, int64_t position) {
  return sample + "@" + std::to_string(position);
}

Asked predict(const std::shared_ptr<const Engine>& engine, ModelRunner& runner,
              const SessionOptions& options, const ComposedPrompt& prompt, const Record& cell,
              const CancelFlag* cancel) {
  const std::vector<int32_t>& tokens = prompt.tokens;
  const auto count = static_cast<int64_t>(tokens.size());
  const auto vocab = static_cast<size_t>(engine->model().config.vocab);
  Asked asked;
  Record record = cell;
  record.metric = "nll";
  record.prompt_hash = prompt_hash(tokens);
  record.prompt_tokens = count;
  NextTokenLosses losses(tokens, vocab, 1, count);  // the first token is not predicted
  bool cancelled = false;
  note_errors(record, [&] {
    Sequence sequence(engine, options);
    PrefillHooks hooks;
    hooks.cancel = cancel;
    hooks.all_logits = std::ref(losses);
    const Stopwatch watch;
    cancelled = !prefill(sequence, runner, tokens, hooks);
    record.prefill_seconds = record.first_token_seconds = watch.seconds();
    asked.engine_seconds = record.prefill_seconds;
    record.kv_bytes = static_cast<int64_t>(sequence.report().kv_bytes);
    note_costs(record, sequence.report());
  });
  if (cancelled) return asked;
  const std::vector<int64_t> begins = position_stretches(count);
  const size_t told = record.error.empty() ? begins.size() : 1;  // report a failure only once
  for (size_t i = 0; i < told; ++i) {
    const int64_t end = i + 1 < begins.size() ? begins[i + 1] : count;
    double sum = 0;
    const int64_t first = std::max<int64_t>(begins[i], 1);
    for (int64_t t = first; t < end; ++t) sum += losses.losses()[static_cast<size_t>(t - 1)];
    Record stretch = record;
    stretch.id = stretch_id(cell.id, begins[i]);
    stretch.position = begins[i];
    stretch.reply_tokens = end - first;
    stretch.score =
        record.error.empty() && end > first ? sum / static_cast<double>(end - first) : 0;
    asked.records.push_back(std::move(stretch));
  }
  return asked;
}

}  // namespace longhaul
