#include "serve/scheduler/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace longhaul::serve {
namespace {

const char* phase_of(RunningJob::State state) {
  switch (state) {
    case RunningJob::State::kWaiting:
      return "phase=\"queue\"";
    case RunningJob::State::kPrefilling:
      return "phase=\"prefill\"";
    default:
      return "phase=\"reply\"";
  }
}

JobError shutting_down() {
  return {503, "server_error", "shutting_down", "the server is shutting down", 5};
}

}  // namespace

Scheduler::Scheduler(EnginePort& engine, const Tokenizer& tokenizer, SchedulerOptions options,
                     Metrics& metrics)
    : engine_(engine),
      tokenizer_(tokenizer),
      options_(std::move(options)),
      metrics_(metrics),
      cache_(options_.exact_cache) {
  last_turn_ = engine_.now();
  if (engine_.host_use().limit > 0 || engine_.files_through_host()) open_host();
  metrics_.set("longhaul_kv_limit_bytes", "", static_cast<double>(options_.memory_limit));
  publish();
}

Scheduler::~Scheduler() = default;

std::optional<JobError> Scheduler::submit(std::shared_ptr<Job> job) {
  if (stopping_ || draining_) return shutting_down();
  {
    const std::lock_guard lock(mutex_);
    if (queued_ >= options_.queued) {
      return JobError{503, "server_error", "overloaded",
                      fmt::format("{} requests wait already", queued_), 5};
    }
    const auto limits = options_.keys.find(job->key);
    int& of_key = queued_of_key_[job->key];
    if (limits != options_.keys.end() && limits->second.queued > 0 &&
        of_key >= limits->second.queued) {
      return JobError{429, "rate_limit_error", "rate_limit_exceeded",
                      fmt::format("{} requests of this key wait already", of_key), 5};
    }
    ++of_key;
    ++queued_;
    ++jobs_here_;
    commands_.push_back(std::move(job));
  }
  changed_.notify_one();
  return std::nullopt;
}

void Scheduler::count_as_admitted(const std::string& key) {
  const std::lock_guard lock(mutex_);
  --queued_;
  --queued_of_key_[key];
}

void Scheduler::run() {
  while (!stopping_) {
    if (turn()) continue;
    std::unique_lock lock(mutex_);
    // Jobs exist although there was nothing to do: a client does not read, or has closed its
    // connection.
    const bool copies = host_ != nullptr && host_->busy();
    const bool soon = jobs_here_ > 0 || (disk_ != nullptr && disk_->busy());
    const auto wait = std::chrono::milliseconds(copies             ? 1
                                                : soon             ? 5
                                                : disk_ != nullptr ? 250
                                                                   : 1000);
    changed_.wait_for(lock, wait,
                      [this] { return stopping_ || !commands_.empty() || !posted_.empty(); });
  }
  take_commands();
  for (RunningJob& job : jobs_) {
    if (job.state != RunningJob::State::kEnded) fail(job, shutting_down());
  }
  drop_ended();
}

void Scheduler::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
}

double Scheduler::seconds_since_turn() const { return engine_.now() - last_turn_; }

void Scheduler::unpin(const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    unpins_.push_back(name);
  }
  changed_.notify_one();
}

void Scheduler::take_commands() {
  run_posted();
  if (disk_ != nullptr) disk_->poll();
  poll_host();
  std::deque<std::shared_ptr<Job>> commands;
  std::vector<std::string> unpins;
  {
    const std::lock_guard lock(mutex_);
    commands.swap(commands_);
    unpins.swap(unpins_);
  }
  for (const std::string& name : unpins) forget_pin(name);
  save_pins();
  for (std::shared_ptr<Job>& job : commands) {
    RunningJob& running = jobs_.emplace_back();
    running.job = std::move(job);
    running.arrived = engine_.now();
    running.report.prompt_tokens = std::ssize(running.job->prompt);
  }
}

bool Scheduler::turn() {
  last_turn_ = engine_.now();
  take_commands();
  cancel_requested();
  drop_ended();
  admit();
  publish();
  RunningJob* small = pick_short();
  RunningJob* large = pick_long();
  bool worked = false;
  if (small != nullptr || large != nullptr) give_pieces();
  if (small != nullptr && (large == nullptr || shorts_in_row_ < 8)) {
    ++shorts_in_row_;
    advance(*small, [this] { decode_if_due(); });
    worked = true;
  } else if (large != nullptr) {
    shorts_in_row_ = 0;
    side_ended_ = engine_.now();
    advance(*large, [this] { between_layers(); });
    worked = true;
  } else {
    own_seconds_ = side_seconds_ = 0;
  }
  if (worked) {
    decode_if_due();
  } else {
    worked = decode(true);
  }
  drop_ended();
  publish();
  if (worked) last_work_ = engine_.now();
  return worked || write_when_idle() || sleep_when_idle();
}

/// Removes jobs whose clients have closed their connections. A job whose prefill is on the stack
/// checks the flag itself.
void Scheduler::cancel_requested() {
  for (RunningJob& job : jobs_) {
    const bool active = job.state != RunningJob::State::kEnded && !job.stepping;
    if (active && job.job->cancel.requested()) cancel(job);
  }
}

void Scheduler::cancel(RunningJob& job) {
  metrics_.add("longhaul_cancelled_total", phase_of(job.state));
  job.prefill.reset();
  // If the client repeats the request, it continues after the part of the prompt that was read.
  if (job.state == RunningJob::State::kPrefilling) keep_abandoned(job);
  if (job.state == RunningJob::State::kDecoding) return finish(job, true);
  leave(job);
  job.job->sink->failed({499, "server_error", "cancelled", "the client closed the connection"});
}

void Scheduler::fail(RunningJob& job, const JobError& error) {
  give_pieces(job);
  metrics_.add("longhaul_errors_total", "code=\"" + error.code + "\"");
  job.prefill.reset();
  leave(job);
  job.job->sink->failed(error);
}

void Scheduler::finish(RunningJob& job, bool keeps) {
  give_pieces(job);
  JobReport& report = job.report;
  report.kv_bytes = job.bytes();
  for (const RunningJob::Choice& choice : job.choices) {
    if (!choice.sequence) continue;
    report.pairs_share = choice.sequence->pairs_share();
    break;
  }
  report.decode_seconds = engine_.now() - job.prefill_ended;
  metrics_.observe("longhaul_reply_seconds", engine_.now() - job.arrived);
  tell_sources(job);
  if (keeps) keep_reply(job);
  leave(job);
  job.job->sink->done(report);
}

void Scheduler::tell_sources(RunningJob& job) {
  int index = 0;
  for (RunningJob::Choice& choice : job.choices) {
    if (choice.watch) {
      if (choice.sequence) choice.sequence->watch_sources(nullptr);
      const auto tokens = choice.maker->tokens();
      job.job->sink->sources(index, {std::move(choice.watch), {tokens.begin(), tokens.end()}});
    }
    ++index;
  }
}

/// Frees the job's place and memory, also in the published figures, before its client learns of the
/// end. A client that then asks for /slots or /metrics finds the place free.
void Scheduler::leave(RunningJob& job) {
  if (job.state == RunningJob::State::kWaiting) count_as_admitted(job.job->key);
  job.state = RunningJob::State::kEnded;
  job.choices.clear();
  job.sequence.reset();
  stop_awaiting(job);
  release_lease(job);
  trim_cache();
  publish();
}

void Scheduler::drop_ended() {
  jobs_here_ -= static_cast<int>(std::erase_if(jobs_, [](const RunningJob& job) {
    return job.state == RunningJob::State::kEnded && !job.stepping;
  }));
}

void Scheduler::publish() {
  const MemoryBudget now = budget();
  in_use_ = now.in_use;
  reserved_ = now.reserved;
  int running = 0, waiting = 0;
  std::vector<Slot> slots(static_cast<size_t>(options_.running));
  for (const RunningJob& job : jobs_) {
    if (job.state == RunningJob::State::kWaiting) ++waiting;
    if (job.state != RunningJob::State::kPrefilling && job.state != RunningJob::State::kDecoding) {
      continue;
    }
    if (static_cast<size_t>(running) < slots.size()) {
      slots[static_cast<size_t>(running)] = {true,
                                             job.report.prompt_tokens + job.report.reply_tokens,
                                             job.report.prompt_tokens, job.report.reply_tokens};
    }
    ++running;
  }
  running_now_ = running;
  waiting_now_ = waiting;
  metrics_.set("longhaul_running", "", running);
  metrics_.set("longhaul_waiting", "", waiting);
  metrics_.set("longhaul_kv_bytes", "state=\"live\"",
               static_cast<double>(now.in_use - now.evictable));
  metrics_.set("longhaul_kv_bytes", "state=\"cached\"", static_cast<double>(now.evictable));
  if (host_ != nullptr) {
    const size_t on_host = engine_.host_use().in_use;
    metrics_.set("longhaul_kv_bytes", "state=\"host\"", static_cast<double>(on_host));
  }
  metrics_.set("longhaul_kv_bytes", "state=\"reserved\"", static_cast<double>(now.reserved));
  const double room = static_cast<double>(now.limit) - static_cast<double>(now.fixed);
  metrics_.set("longhaul_kv_usage", "",
               room > 0 ? static_cast<double>(now.in_use - now.evictable) / room : 0);
  const std::lock_guard lock(mutex_);
  slots_ = std::move(slots);
}

std::vector<Scheduler::Slot> Scheduler::slots() const {
  const std::lock_guard lock(mutex_);
  return slots_;
}

}  // namespace longhaul::serve
