#include "eval/ask.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <new>

#include "base/clock.h"
#include "base/error.h"
#include "base/parallel.h"
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

/// Rank of the first passage with one of `prompt.answer` among those that `reply`, the tokens after
/// the prompt, attended to (engine/passages.h): 1 is the first, 0 means not among the first 10.
int64_t source_rank(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                    const SourceWatch& watch, std::span<const int32_t> reply) {
  constexpr size_t kMost = 10;
  std::string context;
  for (int64_t i = prompt.context_begin; i < prompt.context_end; ++i) {
    context += tokenizer.piece(prompt.tokens[static_cast<size_t>(i)]);
  }
  const PassageFinder finder(tokenizer, prompt.tokens, {context});
  const auto passages = finder.passages(watch, reply, 0, reply.size(), kMost);
  const auto found = std::ranges::find_if(passages, [&](const Passage& passage) {
    return std::ranges::any_of(prompt.answer,
                               [&](int64_t token) { return finder.holds(passage, token); });
  });
  return found == passages.end() ? 0 : 1 + (found - passages.begin());
}

struct Reading {
  bool finished = false;
  double spent = 0;    ///< seconds spent in this call
  double seconds = 0;  ///< including the shared reading
};

/// Continues from `shared`, if there is memory for it and for the rows of the session.
Reading read(Session& session, const ComposedPrompt& prompt, int64_t reply,
             const CancelFlag* cancel, SharedReading* shared) {
  const Stopwatch watch;
  if (shared != nullptr && shared->copy &&
      !session.has_room(std::ssize(prompt.tokens), reply, shared->copy->bytes())) {
    shared->copy.reset();
    shared->no_room = true;
  }
  const bool goes_on = shared != nullptr && shared->copy.has_value();
  const auto whole = std::span<const int32_t>(prompt.tokens);
  const auto tail = whole.last(static_cast<size_t>(prompt.generated));
  const auto read = whole.first(whole.size() - tail.size());
  const int64_t instruction = std::max<int64_t>(0, prompt.instruction - std::ssize(tail));
  const int64_t taken = goes_on ? session.begin_with(*shared->copy, read, instruction) : 0;
  PrefillHooks hooks;
  hooks.instruction = instruction;
  hooks.evidence = prompt.evidence;
  hooks.reply = reply;
  hooks.cancel = cancel;
  Reading reading;
  reading.finished = session.prefill(read.subspan(static_cast<size_t>(taken)), hooks);
  for (const int32_t token : tail) {
    reading.finished = reading.finished && !requested(cancel);
    if (reading.finished) session.decode(token);
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

double read_shared(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
                   const ComposedPrompt& prompt, const CancelFlag* cancel, SharedReading& shared) {
  const Stopwatch watch;
  try {
    Session session(engine, options);
    const Reading reading = read(session, prompt, 0, cancel, &shared);
    if (reading.finished) {
      shared.copy.emplace(session.copy_context());
      shared.seconds = reading.seconds;
    }
  } catch (const UserError&) {       // each method will report it in its own record
  } catch (const std::bad_alloc&) {  // likewise; some methods need less memory than this reading
  }
  return watch.seconds();
}

Asked ask(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
          const Sample& sample, const ComposedPrompt& prompt, const Record& cell,
          const CancelFlag* cancel, SharedReading* shared, bool sources) {
  Asked asked;
  Record record = cell;
  record.prompt_hash = prompt_hash(prompt.tokens);
  record.prompt_tokens = static_cast<int64_t>(prompt.tokens.size());
  record.expected = sample.answers;
  bool cancelled = false;
  note_errors(record, [&] {
    AnswerRecall recall(prompt.answer, engine->model().config.layers, record.prompt_tokens);
    const ModelShape& shape = engine->model().shape;
    std::optional<SourceWatch> watch;
    if (sources && !prompt.answer.empty()) {
      watch.emplace(shape, heads_to_watch(shape), record.prompt_tokens);
    }
    Session session(engine, options);
    session.observe([&](const LayerStep& step, std::span<const AttendTask> tasks) {
      recall.observe(step, tasks);
      if (watch) watch->observe(step, tasks);
    });
    const Reading reading = read(session, prompt, sample.max_tokens, cancel, shared);
    asked.engine_seconds = reading.spent;
    cancelled = !reading.finished;
    if (cancelled) return;
    record.prefill_seconds = reading.seconds;
    if (shared != nullptr && is_dense(options)) {
      shared->copy.emplace(session.copy_context());
      shared->seconds = reading.seconds;
    }
    record.kv_bytes = static_cast<int64_t>(session.report().kv_bytes);
    GenerateOptions generation;
    generation.sampler.temperature = 0;
    generation.max_tokens = sample.max_tokens;
    generation.stop = sample.stop;
    generation.cancel = cancel;
    const Reply reply = generate(session, generation);
    asked.engine_seconds += reply.first_token_seconds + reply.decode_seconds;
    cancelled = reply.stop == StopReason::kCancelled;
    record.reply = reply.text;
    record.reply_tokens = static_cast<int64_t>(reply.tokens.size());
    record.first_token_seconds = record.prefill_seconds + reply.first_token_seconds;
    record.decode_tokens_per_second = reply.tokens_per_second();
    note_costs(record, session.report());
    record.recall = recall.by_layer();
    if (watch && watch->saw_anything())
      record.source_rank = source_rank(engine->tokenizer(), prompt, *watch, reply.tokens);
    record.score = score_reply(sample, reply.text);
  });
  if (!cancelled) asked.records.push_back(std::move(record));
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

Asked predict(const std::shared_ptr<const Engine>& engine, const SessionOptions& options,
              const ComposedPrompt& prompt, const Record& cell, const CancelFlag* cancel) {
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
    Session session(engine, options);
    PrefillHooks hooks;
    hooks.cancel = cancel;
    hooks.all_logits = std::ref(losses);
    const Stopwatch watch;
    cancelled = !session.prefill(tokens, hooks);
    record.prefill_seconds = record.first_token_seconds = watch.seconds();
    asked.engine_seconds = record.prefill_seconds;
    record.kv_bytes = static_cast<int64_t>(session.report().kv_bytes);
    note_costs(record, session.report());
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
