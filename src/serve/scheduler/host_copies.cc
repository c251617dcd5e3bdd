// The scheduler's use of host memory beside a device.

#include <algorithm>

#include "serve/scheduler/scheduler.h"

namespace longhaul::serve {
namespace {

// Seconds for which copies to the device may allocate memory between two steps of the engine. They
// lengthen the time between two tokens of other replies.
constexpr double kBesideReplies = 0.002, kAlone = 0.010;

}  // namespace

void Scheduler::open_host() {
  host_ = std::make_unique<HostTier>(engine_, cache_);
  host_->on_moved = [this](const HostTier::Moved& moved) {
    const std::string labels = moved.to_host ? "to=\"host\"" : "to=\"device\"";
    metrics_.add("longhaul_host_copied_bytes_total", labels, static_cast<double>(moved.copied));
    metrics_.add("longhaul_host_copy_seconds_total", labels, moved.seconds);
  };
  host_->on_freed = [this](size_t bytes) {
    metrics_.add("longhaul_evicted_bytes_total", "to=\"host\"", static_cast<double>(bytes));
    metrics_.add("longhaul_cache_evictions_total", "");
  };
}

/// Begins to bring back the snapshot with which a waiting job would resume.
void Scheduler::bring_back(RunningJob& job) {
  const std::shared_ptr<Snapshot> stored = job.resume.snapshot;
  release_lease(job);
  const bool on_host = stored->on_host != nullptr;
  const Room room = start_load(stored, {});
  if (room == Room::kReserved) {
    job.reused_from = on_host ? "host" : "disk";
    job.awaited = stored;
    ++stored->pins;  // it must not be evicted before the job resumes
  }
  const bool too_large = room == Room::kLater && stored->kv_bytes > job.most_bytes;
  job.memory_only = room == Room::kNever || too_large;
}

void Scheduler::stop_awaiting(RunningJob& job) {
  if (job.awaited == nullptr) return;
  --job.awaited->pins;
  job.awaited.reset();
}

void Scheduler::poll_host() {
  if (host_ == nullptr || !host_->busy()) return;
  const bool replies = std::ranges::any_of(
      jobs_, [](const RunningJob& job) { return job.state == RunningJob::State::kDecoding; });
  if (host_->poll(replies ? kBesideReplies : kAlone)) trim_cache();
}

}  // namespace longhaul::serve
