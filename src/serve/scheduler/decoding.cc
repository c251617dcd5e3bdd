// Decodes one token of every reply at a time.

#include <algorithm>

#include "serve/scheduler/scheduler.h"

namespace longhaul::serve {
namespace {

constexpr size_t kDecodeRows = 64;  // rows of one step

struct DecodedChoice {
  RunningJob* job;
  size_t choice;
};

}  // namespace

void Scheduler::decode_if_due() {
  if (engine_.now() - decode_ended_ >= options_.pause.after(decode_seconds_)) decode();
}

/// Returns false if no reply can continue.
bool Scheduler::decode() {
  const double began = engine_.now();
  std::vector<DecodedChoice> who;
  std::vector<DecodeEntry> entries;
  for (RunningJob& job : jobs_) {
    if (job.state != RunningJob::State::kDecoding || job.job->sink->full()) continue;
    if (job.job->cancel.requested()) {
      cancel(job);
      continue;
    }
    for (size_t i = 0; i < job.choices.size(); ++i) {
      RunningJob::Choice& choice = job.choices[i];
      if (choice.ended) continue;
      const int64_t length = std::ssize(choice.sequence->tokens());
      if (options_.context > 0 && length >= options_.context) {
        give_piece(job, choice, choice.maker->end(Finish::kContextFull));
      } else if (choice.maker->made() >= job.reply_reserved && job.job->reply.max_tokens < 0 &&
                 !extend_reservation(job)) {
        job.report.warnings.emplace_back("memory");
        give_piece(job, choice, choice.maker->end(Finish::kMemory));
      } else {
        entries.push_back({choice.sequence.get(), choice.maker->last_token(), {}});
        who.push_back({&job, i});
      }
    }
    end_if_done(job);
  }
  if (entries.empty()) return false;
  metrics_.observe("longhaul_batch_rows", static_cast<double>(entries.size()));
  std::vector<BestLogit> highest(entries.size());
  std::vector<ReplyMaker*> masked;
  for (size_t i = 0; i < entries.size() && engine_.chooses_highest(); ++i) {
    ReplyMaker& maker = *who[i].job->choices[who[i].choice].maker;
    if (!maker.takes_highest()) continue;
    entries[i].highest = &highest[i];
    entries[i].biases = maker.biases();
    entries[i].mask = maker.mask();
    if (!entries[i].mask.empty()) masked.push_back(&maker);
  }
  masks_.start(std::move(masked));
  for (size_t at = 0; at < entries.size(); at += kDecodeRows) {
    engine_.decode(std::span(entries).subspan(at, std::min(kDecodeRows, entries.size() - at)),
                   [this] { masks_.wait(); });
  }
  masks_.wait();
  const double now = engine_.now();
  for (size_t i = 0; i < entries.size(); ++i) {
    RunningJob& job = *who[i].job;
    if (job.state == RunningJob::State::kEnded) continue;
    std::string problem = entries[i].error;
    RunningJob::Choice& choice = job.choices[who[i].choice];
    if (problem.empty()) {
      try {
        metrics_.observe("longhaul_between_tokens_seconds", now - choice.last_token);
        choice.last_token = now;
        give_piece(job, choice,
                   entries[i].highest != nullptr
                       ? choice.maker->take(highest[i])
                       : choice.maker->take(choice.sequence->logits(), choice.sequence->tokens()));
      } catch (const std::exception& error) {
        problem = error.what();
      }
    }
    if (!problem.empty()) {
      fail(job, {500, "server_error", "engine_failed", problem});
    } else {
      end_if_done(job);
    }
  }
  decode_ended_ = engine_.now();
  const double seconds = decode_ended_ - began;
  decode_seconds_ += (seconds - decode_seconds_) / (decode_seconds_ == 0 ? 1 : 4);
  return true;
}

void Scheduler::give_piece(RunningJob& job, RunningJob::Choice& choice, ReplyPiece piece) {
  JobReport& report = job.report;
  report.reply_tokens = 0;
  for (const RunningJob::Choice& each : job.choices) report.reply_tokens += each.maker->made();
  report.decode_seconds = engine_.now() - job.prefill_ended;
  choice.ended = piece.finish != Finish::kNone;
  if (piece.finish == Finish::kLoop) report.warnings.emplace_back("loop");
  const auto index = static_cast<int>(&choice - job.choices.data());
  job.job->sink->piece(index, piece, report);
  if (choice.ended || !job.job->sink->enough(index)) return;
  choice.ended = true;
  job.job->sink->piece(index, choice.maker->end(Finish::kEnd), report);
}

void Scheduler::end_if_done(RunningJob& job) {
  if (job.state != RunningJob::State::kDecoding) return;
  const bool done = std::all_of(job.choices.begin(), job.choices.end(),
                                [](const RunningJob::Choice& choice) { return choice.ended; });
  if (!done) return;
  metrics_.add("longhaul_reply_tokens_total", "", static_cast<double>(job.report.reply_tokens));
  finish(job, true);
}

}  // namespace longhaul::serve
