// Selects the prompt that is computed next, and runs other work between its layers.

#include <algorithm>

#include "base/error.h"
#include "serve/scheduler/scheduler.h"

namespace longhaul::serve {
namespace {

constexpr double kProgressSeconds = 0.250;
constexpr double kShareOfDocuments = 0.2;  // share of the time beside other long prompts
constexpr double kRemembered = 1.0;  // length of the past, in seconds, by which time is shared

JobError engine_failed(const std::string& what) {
  return {500, "server_error", "engine_failed", what};
}

}  // namespace

void Scheduler::begin(RunningJob& job) {
  count_as_admitted(job.job->key);
  job.state = RunningJob::State::kPrefilling;
  job.admitted = job.prefill_began = engine_.now();
  job.report.queue_seconds = job.admitted - job.arrived;
  metrics_.observe("longhaul_queue_seconds", job.report.queue_seconds);
  publish();
  try {
    job.sequence = start_sequence(job);
    report_cache(job);
    make_prefill(job);
  } catch (const UserError& error) {
    fail(job, {400, "invalid_request_error", "invalid_request", error.what()});
  } catch (const std::exception& error) {
    fail(job, engine_failed(error.what()));
  }
}

void Scheduler::make_prefill(RunningJob& job) {
  const Job& request = *job.job;
  if (job.sequence->tokens().size() == request.prompt.size()) return prefill_done(job);
  const int64_t end = next_cut(job);
  const bool is_last = end == std::ssize(request.prompt);
  const size_t begin = job.sequence->tokens().size();
  const auto rest = std::span(request.prompt).subspan(begin);
  const auto leg = rest.first(static_cast<size_t>(end) - begin);
  ServedPrefillHooks hooks;
  hooks.cancel = &request.cancel;
  hooks.instruction = is_last ? std::min(request.instruction, std::ssize(leg)) : 0;
  hooks.reply = is_last ? job.reply_reserved : 0;
  hooks.to_come = std::ssize(request.prompt) - end;
  if (request.prompt_logprobs && job.prompt_reports.empty()) {
    job.prompt_reports.resize(request.prompt.size());
    job.prompt_reports[0].id = request.prompt[0];
    hooks.all_logits = [this, &job](int64_t first, int64_t rows, const float* logits) {
      const auto vocab = static_cast<size_t>(engine_.vocab());
      const Job& asked = *job.job;
      for (int64_t row = 0; row < rows; ++row) {
        const auto next = static_cast<size_t>(first + row + 1);
        if (next >= asked.prompt.size()) return;
        const std::span<const float> of_row(logits + static_cast<size_t>(row) * vocab, vocab);
        job.prompt_reports[next] =
            report_token(of_row, asked.prompt[next], std::max(asked.reply.logprobs, 0));
      }
    };
  }
  const bool is_short = std::ssize(rest) <= options_.short_prompt && !request.background;
  job.lane = is_short ? PrefillLane::kShort : PrefillLane::kLong;
  job.prefill = engine_.prefill(*job.sequence, leg, hooks, job.lane);
  tell_progress(job, true);
}

/// The one of the two oldest long prefills that has had less time. A document has its turn only
/// where it has had a small part of the time of all prefills since it began.
RunningJob* Scheduler::pick_long() {
  RunningJob *best = nullptr, *document = nullptr;
  int seen = 0;
  for (RunningJob& job : jobs_) {
    if (job.state != RunningJob::State::kPrefilling || !job.prefill || job.stepping) continue;
    if (job.lane != PrefillLane::kLong) continue;
    if (job.job->background) {
      if (document == nullptr) document = &job;
      continue;
    }
    if (best == nullptr || job.computed < best->computed) best = &job;
    if (++seen == 2) break;
  }
  if (best == nullptr || document == nullptr) return best != nullptr ? best : document;
  const double since = engine_.now() - document->prefill_began;
  return document->computed < kShareOfDocuments * since ? document : best;
}

RunningJob* Scheduler::pick_short() {
  for (RunningJob& job : jobs_) {
    const bool prefills = job.state == RunningJob::State::kPrefilling && job.prefill;
    if (prefills && !job.stepping && job.lane == PrefillLane::kShort) return &job;
  }
  return nullptr;
}

/// One group of rows of a prompt.
void Scheduler::advance(RunningJob& job, const std::function<void()>& yield) {
  const double began = engine_.now();
  const double side_before = side_seconds_;
  const int64_t done_before = job.prefill->done();
  double layer_began = began;
  job.stepping = true;
  Advance state = Advance::kMore;
  try {
    state = job.prefill->step([&] {
      metrics_.observe("longhaul_layer_seconds", engine_.now() - layer_began);
      last_turn_ = engine_.now();
      tell_progress(job, false);
      yield();
      layer_began = engine_.now();
    });
  } catch (const std::exception& error) {
    job.stepping = false;
    return fail(job, engine_failed(error.what()));
  }
  job.stepping = false;
  const double seconds = engine_.now() - began;
  job.computed += std::max(0.0, seconds - (side_seconds_ - side_before));
  metrics_.add("longhaul_prompt_tokens_total", "source=\"read\"",
               static_cast<double>(job.prefill->done() - done_before));
  if (state == Advance::kCancelled || job.job->cancel.requested()) return cancel(job);
  if (state == Advance::kDone) tell_progress(job, true);
  if (state == Advance::kDone) leg_done(job);
}

/// Runs work of other requests, for at most as much time as the prefill has had itself.
void Scheduler::between_layers() {
  const double began = engine_.now();
  own_seconds_ += began - side_ended_;
  take_commands();
  cancel_requested();
  admit();
  if (side_seconds_ <= own_seconds_) {
    if (RunningJob* small = pick_short()) advance(*small, [this] { decode_if_due(); });
    decode_if_due();
  }
  side_ended_ = engine_.now();
  side_seconds_ += side_ended_ - began;
  if (own_seconds_ > kRemembered) {
    own_seconds_ /= 2;
    side_seconds_ /= 2;
  }
}

void Scheduler::prefill_done(RunningJob& job) {
  job.prefill_ended = engine_.now();
  job.report.legs = job.legs;
  job.report.prefill_seconds = job.prefill_ended - job.prefill_began;
  if (job.prefilled_choices == 0) job.job->sink->prefilled(*job.sequence);
  const bool reports = job.job->prompt_logprobs && job.prefilled_choices == 0;
  if (reports) job.job->sink->prompt_tokens(std::move(job.prompt_reports));
  if (job.uses_cache && !job.resume.whole) keep(job, job.sequence->clone(), true);
  std::unique_ptr<ServedSequence> sequence = std::move(job.sequence);
  ++job.prefilled_choices;
  std::vector<std::unique_ptr<ServedSequence>> copies;
  while (job.prefilled_choices < job.job->choices) {
    auto copy = sequence->clone();
    if (!copy) break;
    copies.push_back(std::move(copy));
    ++job.prefilled_choices;
  }
  add_choice(job, std::move(sequence));
  for (auto& copy : copies) {
    if (job.state != RunningJob::State::kEnded) add_choice(job, std::move(copy));
  }
  if (job.state == RunningJob::State::kEnded) return;
  if (job.prefilled_choices < job.job->choices) {  // no copies: read once more
    job.uses_cache = false;
    job.sequence = engine_.begin(job.job->attention, job.job->adapter);
    return make_prefill(job);
  }
  job.state = RunningJob::State::kDecoding;
  end_if_done(job);
}

/// A further reply, whose first token comes from the prompt's logits.
void Scheduler::add_choice(RunningJob& job, std::unique_ptr<ServedSequence> sequence) {
  ReplyOptions options = job.job->reply;
  options.sampler.seed += job.choices.size();
  RunningJob::Choice& choice = job.choices.emplace_back();
  choice.sequence = std::move(sequence);
  choice.maker = std::make_unique<ReplyMaker>(tokenizer_, options);
  choice.last_token = engine_.now();
  if (job.job->sources) {
    choice.watch = engine_.make_watch(std::ssize(job.job->prompt));
    choice.sequence->watch_sources(choice.watch);
    job.job->sink->watching(static_cast<int>(job.choices.size()) - 1, choice.watch);
  }
  if (job.choices.size() == 1) {
    job.report.first_token_seconds = engine_.now() - job.arrived;
    metrics_.observe("longhaul_first_token_seconds", job.report.first_token_seconds);
  }
  try {
    if (options.max_tokens == 0) {
      make_piece(job, choice, choice.maker->end(Finish::kLength));
    } else {
      make_piece(job, choice,
                 choice.maker->take(choice.sequence->logits(), choice.sequence->tokens()));
    }
    give_pieces(job);
  } catch (const std::exception& error) {
    fail(job, engine_failed(error.what()));
  }
}

void Scheduler::tell_progress(RunningJob& job, bool always) {
  if (!job.job->progress || !job.prefill || job.prefilled_choices > 0) return;
  const double now = engine_.now();
  if (!always && now - job.last_progress < kProgressSeconds) return;
  job.last_progress = now;
  const int64_t before = job.legs.empty() ? 0 : job.legs.back().end;
  job.job->sink->progress({job.report.prompt_tokens, job.report.cached_tokens,
                           before + job.prefill->done(), now - job.prefill_began,
                           job.sequence->attention_seconds()});
}

}  // namespace longhaul::serve
