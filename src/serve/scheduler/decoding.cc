// Decodes one token of every reply at a time.

#include <algorithm>
#include <utility>

#include "serve/scheduler/scheduler.h"

namespace longhaul::serve {
namespace {

/// Fewer pieces than this take less time than their delay would add.
constexpr size_t kManyPieces = 8;

}  // namespace

void Scheduler::decode_if_due() {
  if (engine_.now() - decode_ended_ >= options_.pause.after(decode_seconds_)) decode(false);
}

/// Decodes one token of every reply that can continue. Returns false if there is none.
///
/// If another step follows at once and a device computes the steps, many pieces are given to their
/// sinks while it computes the next step.
bool Scheduler::decode(bool another_follows) {
  const double began = engine_.now();
  choose_rows();
  if (entries_.empty()) {
    give_pieces();
    end_all_done();
    return false;
  }
  metrics_.observe("longhaul_batch_rows", static_cast<double>(entries_.size()));
  const bool aside = engine_.begin_decode(entries_, [this] { masks_.wait(); });
  masks_.wait();
  give_pieces();
  engine_.end_decode();
  take_tokens();
  if (!another_follows || !aside || entries_.size() < kManyPieces) give_pieces();
  end_all_done();
  decode_ended_ = engine_.now();
  const double seconds = decode_ended_ - began;
  decode_seconds_ += (seconds - decode_seconds_) / (decode_seconds_ == 0 ? 1 : 4);
  return true;
}

/// Lists the choices that are decoded. Ends those that have no room.
void Scheduler::choose_rows() {
  decoded_.clear();
  entries_.clear();
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
        make_piece(job, choice, choice.maker->end(Finish::kContextFull));
      } else if (choice.maker->made() >= job.reply_reserved && job.job->reply.max_tokens < 0 &&
                 !extend_reservation(job)) {
        job.report.warnings.emplace_back("memory");
        make_piece(job, choice, choice.maker->end(Finish::kMemory));
      } else {
        entries_.push_back({choice.sequence.get(), choice.maker->last_token(), {}});
        decoded_.push_back({&job, i});
      }
    }
    end_if_done(job);
  }
  if (entries_.empty()) return;
  std::vector<ReplyMaker*> masked;
  highest_.assign(entries_.size(), {});
  for (size_t i = 0; i < entries_.size() && engine_.chooses_highest(); ++i) {
    ReplyMaker& maker = *decoded_[i].job->choices[decoded_[i].choice].maker;
    if (!maker.takes_highest()) continue;
    entries_[i].highest = &highest_[i];
    entries_[i].biases = maker.biases();
    entries_[i].mask = maker.mask();
    if (!entries_[i].mask.empty()) masked.push_back(&maker);
  }
  masks_.start(std::move(masked));
}

/// Makes the pieces of a step that has ended.
void Scheduler::take_tokens() {
  const double now = engine_.now();
  for (size_t i = 0; i < entries_.size(); ++i) {
    RunningJob& job = *decoded_[i].job;
    if (job.state == RunningJob::State::kEnded) continue;
    RunningJob::Choice& choice = job.choices[decoded_[i].choice];
    if (choice.ended) continue;  // its sink had enough while the step was computed
    std::string problem = entries_[i].error;
    if (problem.empty()) {
      try {
        metrics_.observe("longhaul_between_tokens_seconds", now - choice.last_token);
        choice.last_token = now;
        make_piece(job, choice,
                   entries_[i].highest != nullptr
                       ? choice.maker->take(highest_[i])
                       : choice.maker->take(choice.sequence->logits(), choice.sequence->tokens()));
      } catch (const std::exception& error) {
        problem = error.what();
      }
    }
    if (!problem.empty()) fail(job, {500, "server_error", "engine_failed", problem});
  }
}

/// Adds a piece to a reply. give_pieces() passes it to the sink.
void Scheduler::make_piece(RunningJob& job, RunningJob::Choice& choice, ReplyPiece piece) {
  if (choice.made) give_pieces(job);
  JobReport& report = job.report;
  report.reply_tokens = 0;
  for (const RunningJob::Choice& each : job.choices) report.reply_tokens += each.maker->made();
  report.decode_seconds = engine_.now() - job.prefill_ended;
  choice.ended = piece.finish != Finish::kNone;
  if (piece.finish == Finish::kLoop) report.warnings.emplace_back("loop");
  choice.made = std::move(piece);
}

void Scheduler::give_pieces() {
  for (RunningJob& job : jobs_) give_pieces(job);
}

/// Passes the pieces of a job to its sink. It does not end the job, because a step may be computing
/// its sequences.
void Scheduler::give_pieces(RunningJob& job) {
  for (size_t i = 0; i < job.choices.size(); ++i) {
    RunningJob::Choice& choice = job.choices[i];
    if (!choice.made) continue;
    const ReplyPiece piece = *std::exchange(choice.made, std::nullopt);
    const auto index = static_cast<int>(i);
    job.job->sink->piece(index, piece, job.report);
    if (choice.ended || !job.job->sink->enough(index)) continue;
    choice.ended = true;
    job.job->sink->piece(index, choice.maker->end(Finish::kEnd), job.report);
  }
}

void Scheduler::end_all_done() {
  for (RunningJob& job : jobs_) end_if_done(job);
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
