// Decides which waiting request starts: by memory, by the number of running requests, in order of
// arrival.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "serve/scheduler/prefill_gate.h"
#include "serve/scheduler/scheduler.h"

namespace longhaul::serve {
namespace {

constexpr int kMostOvertaken = 8;
constexpr int kMostLookUps = 16;           // waiting requests that are looked up in one round
constexpr double kProgressOfGate = 0.250;  // seconds between two reports

int64_t reserved_reply(const Job& job, int64_t open_reply) {
  return job.reply.max_tokens >= 0 ? job.reply.max_tokens : open_reply;
}

bool waits_for_document(const Job& job) {
  return std::ranges::any_of(job.gates, [](const std::shared_ptr<PrefillGate>& gate) {
    return gate->state() == PrefillGate::State::kClosed;
  });
}

JobError too_long(const Job& job, int64_t context) {
  const int64_t prompt = std::ssize(job.prompt);
  const int64_t reply = std::max<int64_t>(job.reply.max_tokens, 1);
  JobError error{400, "invalid_request_error", "context_length_exceeded",
                 fmt::format("This model's maximum context length is {} tokens, but the prompt is "
                             "too long: {} tokens and a reply of {} are {}. The request exceeds "
                             "the available context size.",
                             context, prompt, reply, prompt + reply)};
  error.prompt_tokens = prompt;
  error.context = context;
  return error;
}

}  // namespace

MemoryBudget Scheduler::budget() const {
  MemoryBudget budget;
  budget.limit = options_.memory_limit;
  budget.fixed = engine_.fixed_bytes();
  budget.in_use = engine_.kv_bytes_in_use() + cache_.overhead();
  budget.reserved = loading_bytes_;
  size_t held = cache_.leased_bytes();  // upper bound of what remains if all else is evicted
  if (host_ != nullptr) {
    budget.reserved += host_->coming_bytes();
    held += host_->arrived_bytes();
  }
  for (const RunningJob& job : jobs_) {
    const size_t bytes = job.bytes();
    held += bytes - std::min(bytes, job.shared_bytes);
    const bool runs =
        job.state == RunningJob::State::kPrefilling || job.state == RunningJob::State::kDecoding;
    if (runs && job.most_bytes > bytes) budget.reserved += job.most_bytes - bytes;
  }
  budget.evictable = budget.in_use - std::min(budget.in_use, held);
  return budget;
}

/// The reason why a request could not run even alone.
std::optional<JobError> Scheduler::refusal_of(const Job& job, size_t bytes) const {
  const int64_t context = options_.context;
  const int64_t prompt = std::ssize(job.prompt);
  const int64_t reply = job.caps_reply ? 1 : std::max<int64_t>(job.reply.max_tokens, 1);
  if (context > 0 && prompt + reply > context) return too_long(job, context);
  // A request with documents shares their pages, which were read without an adapter.
  const size_t pinned = job.gates.empty() || !job.adapter.empty() ? pinned_bytes() : 0;
  const MemoryBudget alone{.limit = options_.memory_limit, .fixed = engine_.fixed_bytes() + pinned};
  if (alone.decide(bytes) != Admission::kNever) return std::nullopt;
  JobError error{400, "invalid_request_error", "insufficient_memory"};
  error.needed = engine_.fixed_bytes() + bytes;
  error.limit = options_.memory_limit;
  for (const MethodSpec& offer : options_.offers) {
    const size_t need = engine_.most_bytes(offer, prompt, reserved_reply(job, options_.open_reply));
    if (alone.decide(need) != Admission::kNever) error.fits.emplace_back(offer.text(), need);
  }
  error.message = fmt::format(
      "the prompt of {} tokens and its reply need {} with {} attention, more than the limit of {}",
      with_commas(prompt), format_bytes(error.needed), job.attention.text(),
      format_bytes(error.limit));
  if (pinned > 0) error.message += fmt::format("; documents hold {}", format_bytes(pinned));
  if (!error.fits.empty()) {
    error.message += fmt::format("; with {} attention they fit", error.fits.front().first);
  }
  return error;
}

bool Scheduler::key_is_busy(const std::string& key) const {
  const auto limits = options_.keys.find(key);
  if (limits == options_.keys.end() || limits->second.running <= 0) return false;
  const auto running = std::count_if(jobs_.begin(), jobs_.end(), [&](const RunningJob& job) {
    return job.job->key == key && !job.job->background &&
           (job.state == RunningJob::State::kPrefilling ||
            job.state == RunningJob::State::kDecoding);
  });
  return running >= limits->second.running;
}

/// Whether `job` may overtake all requests that wait before it. If so, counts that for each of
/// them.
bool Scheduler::may_overtake(Jobs::iterator job) {
  for (auto ahead = jobs_.begin(); ahead != job; ++ahead) {
    const bool waits = ahead->state == RunningJob::State::kWaiting &&
                       !key_is_busy(ahead->job->key) && !waits_for_document(*ahead->job);
    if (!waits) continue;
    if (ahead->overtaken >= kMostOvertaken || ahead->job->prompt.size() < job->job->prompt.size()) {
      return false;
    }
  }
  for (auto ahead = jobs_.begin(); ahead != job; ++ahead) {
    if (ahead->state == RunningJob::State::kWaiting) ++ahead->overtaken;
  }
  return true;
}

/// Evicts snapshots until `bytes` more fit. Returns false if they do not fit yet. If `now` is
/// false, snapshots may be moved to host memory first, and their memory is then freed later.
bool Scheduler::make_room(size_t bytes, bool now) {
  for (;;) {
    const size_t leaving = host_ != nullptr ? host_->leaving_bytes() : 0;
    const size_t lacking = budget().to_evict(bytes);
    if (lacking == 0) return true;
    if (!now && lacking <= leaving) return false;
    if (!evict_one(now)) return false;
  }
}

/// Whether a job may start as far as the documents of its prompt are concerned. A job whose
/// document failed fails too.
bool Scheduler::passes_gates(RunningJob& job) {
  int64_t done = 0;
  bool open = true;
  for (const auto& gate : job.job->gates) {
    const PrefillGate::State state = gate->state();
    if (state == PrefillGate::State::kFailed) {
      fail(job, gate->error());
      return false;
    }
    done += gate->done();
    open = open && state == PrefillGate::State::kOpen;
  }
  if (open) return true;
  const double now = engine_.now();
  if (job.job->progress && now - job.last_progress >= kProgressOfGate) {
    job.last_progress = now;
    job.job->sink->progress(
        {job.report.prompt_tokens, 0, std::min(done, job.report.prompt_tokens), now - job.arrived});
  }
  return false;
}

void Scheduler::admit() {
  auto running = std::count_if(jobs_.begin(), jobs_.end(), [](const RunningJob& job) {
    return !job.job->background && (job.state == RunningJob::State::kPrefilling ||
                                    job.state == RunningJob::State::kDecoding);
  });
  int looked_up = 0;
  for (auto job = jobs_.begin(); job != jobs_.end(); ++job) {
    if (job->state != RunningJob::State::kWaiting || !passes_gates(*job)) continue;
    Job& request = *job->job;
    if (options_.context > 0 && request.caps_reply) {
      const int64_t room = std::max<int64_t>(1, options_.context - std::ssize(request.prompt));
      if (request.reply.max_tokens > room) request.reply.max_tokens = room;
    }
    job->reply_reserved = reserved_reply(request, options_.open_reply);
    if (options_.context > 0) {
      job->reply_reserved = std::min(
          job->reply_reserved, std::max<int64_t>(1, options_.context - std::ssize(request.prompt)));
    }
    try {
      if (job->most_bytes == 0) {
        job->most_bytes =
            static_cast<size_t>(request.choices) *
            engine_.most_bytes(request.attention, std::ssize(request.prompt), job->reply_reserved);
      }
    } catch (const UserError& error) {
      fail(*job, {400, "invalid_request_error", "unknown_attention", error.what()});
      continue;
    }
    if (const auto refusal = refusal_of(request, job->most_bytes)) {
      fail(*job, *refusal);
      continue;
    }
    if (!std::exchange(job->accepted, true)) request.sink->accepted();
    const bool has_place =
        request.background || (running < options_.running && !key_is_busy(request.key));
    if (!has_place) continue;
    if (job->awaited != nullptr) {
      if (job->awaited->loading) continue;
      job->memory_only = job->awaited->sequence == nullptr;  // it could not be brought back
      if (job->memory_only) job->reused_from = "memory";
    }
    if (looked_up++ >= kMostLookUps) break;
    look_up(*job);
    stop_awaiting(*job);
    if (job->resume.snapshot != nullptr && job->resume.snapshot->sequence == nullptr) {
      bring_back(*job);
      continue;
    }
    const size_t more = job->most_bytes - std::min(job->most_bytes, job->shared_bytes);
    if (budget().decide(more) != Admission::kAdmit || !may_overtake(job) || !make_room(more)) {
      release_lease(*job);
      continue;
    }
    if (!request.background) ++running;
    begin(*job);
  }
}

/// Called for a reply without a limit that has used up its reserved memory.
bool Scheduler::extend_reservation(RunningJob& job) {
  const int64_t longer = job.reply_reserved + options_.open_reply;
  const size_t bytes = static_cast<size_t>(job.job->choices) *
                       engine_.most_bytes(job.job->attention, job.report.prompt_tokens, longer);
  const size_t more = bytes > job.most_bytes ? bytes - job.most_bytes : 0;
  if (more > 0 && (budget().decide(more) != Admission::kAdmit || !make_room(more, true))) {
    return false;
  }
  job.reply_reserved = longer;
  job.most_bytes = std::max(job.most_bytes, bytes);
  return true;
}

}  // namespace longhaul::serve
