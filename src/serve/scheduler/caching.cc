// The scheduler's use of the prefix cache: where a prompt resumes, and which snapshots it leaves.

#include <fmt/format.h>

#include <algorithm>

#include "serve/cache/cache_report.h"
#include "serve/scheduler/scheduler.h"

namespace longhaul::serve {
namespace {

const MethodSpec& dense_attention() {
  static const MethodSpec spec = MethodSpec::parse("dense");
  return spec;
}

bool resumes_anywhere(const ResumeRule& rule) {
  return rule.group == ResumeGroup::kDense || rule.group == ResumeGroup::kRewindable;
}

}  // namespace

std::string Scheduler::scope_of(const Job& job) const {
  return (options_.share_cache ? std::string() : job.key) + '\n' + job.cache_salt;
}

/// Finds the place where the job resumes, and holds a lease of the snapshot.
void Scheduler::look_up(RunningJob& job) {
  const Job& request = *job.job;
  job.uses_cache = request.reuse && !request.prompt_logprobs;
  if (!job.uses_cache) return;
  const std::string method = request.attention.text();
  const int64_t length = std::ssize(request.prompt);
  job.rule = engine_.resume_rule(request.attention);
  job.own_tree = {scope_of(request), method, engine_.angles_of(length), request.adapter};
  job.cuts =
      cut_points(job.rule, {length, request.instruction, request.checkpoints, options_.cache_grid});
  job.resume = cache_.find({.scope = job.own_tree.scope,
                            .method = method,
                            .rule = job.rule,
                            .angles = job.own_tree.angles,
                            .adapter = request.adapter,
                            .prompt = request.prompt,
                            .cuts = job.cuts,
                            .instruction = request.instruction,
                            .memory_only = job.memory_only});
  if (job.resume.snapshot == nullptr) return;
  Snapshot& from = *job.resume.snapshot;
  cache_.lease(from);
  if (resumes_anywhere(job.rule) && (job.resume.dense || !job.rule.evicts_after_dense())) {
    job.shared_bytes =
        from.kv_bytes / from.tokens().size() * static_cast<size_t>(job.resume.tokens);
  }
}

void Scheduler::release_lease(RunningJob& job) {
  if (job.resume.snapshot != nullptr) cache_.release(*job.resume.snapshot);
  job.resume.snapshot.reset();
  job.shared_bytes = 0;
}

/// The sequence with the reused tokens; an empty one without any.
std::unique_ptr<ServedSequence> Scheduler::start_sequence(RunningJob& job) {
  const bool by_dense = job.rule.evicts_after_dense();
  std::unique_ptr<ServedSequence> sequence;
  if (job.resume.snapshot != nullptr) sequence = job.resume.snapshot->sequence->clone();
  if (sequence == nullptr) {
    release_lease(job);
    job.resume = {.branch = job.resume.branch};
    job.dense_stage = job.uses_cache && by_dense && !job.cuts.empty();
    sequence =
        engine_.begin(job.dense_stage ? dense_attention() : job.job->attention, job.job->adapter);
  } else {
    const Snapshot& from = *job.resume.snapshot;
    const int64_t tokens = job.resume.tokens;
    job.dense_stage = job.resume.dense;
    job.legs = first_legs(from.legs, tokens);
    job.seconds_reused =
        from.seconds * static_cast<double>(tokens) / static_cast<double>(from.tokens().size());
    job.cold = job.resume.exact;
    sequence->truncate(tokens);
  }
  if (by_dense && !job.dense_stage) job.cuts.clear();  // the end of a prefill evicts
  const int64_t branch = job.resume.branch;
  if (branch > 0 && resumes_anywhere(job.rule) && branch == job.resume.tokens) {
    keep(job, sequence->clone(), false);  // the next prompt with this beginning needs no other
  } else if (branch > job.resume.tokens && job.rule.group == ResumeGroup::kGrid) {
    job.cuts.push_back(branch);
    std::ranges::sort(job.cuts);
    job.cold = job.cold && std::ranges::count(job.cuts, branch) > 1;
    job.cuts.erase(std::ranges::unique(job.cuts).begin(), job.cuts.end());
  }
  return sequence;
}

/// The sequence of dense attention becomes one of the job's method.
void Scheduler::switch_to_own_method(RunningJob& job) {
  job.dense_stage = false;
  auto own = engine_.begin(job.job->attention, job.job->adapter);
  const int64_t taken = own->begin_with(*job.sequence, job.job->prompt, job.job->instruction,
                                        std::ssize(job.sequence->tokens()));
  job.legs = first_legs(job.legs, taken);
  job.sequence = std::move(own);
}

/// The end of the next prefill.
int64_t Scheduler::next_cut(RunningJob& job) {
  const int64_t least = resumes_anywhere(job.rule) ? kLeastPrefill : 1;
  const auto cut = [&] {
    const int64_t begin = std::ssize(job.sequence->tokens());
    std::erase_if(job.cuts, [&](int64_t at) { return at < begin + least; });
    return job.cuts.empty() ? std::ssize(job.job->prompt) : job.cuts.front();
  };
  const int64_t end = cut();
  if (!job.dense_stage || !job.cuts.empty()) return end;
  switch_to_own_method(job);
  return cut();
}

void Scheduler::leg_done(RunningJob& job) {
  job.prefill.reset();
  const int64_t tokens = std::ssize(job.sequence->tokens());
  add_leg(job.legs, {tokens, false});
  if (tokens == std::ssize(job.job->prompt)) return prefill_done(job);
  if (job.uses_cache) keep(job, job.sequence->clone(), false);
  try {
    make_prefill(job);
  } catch (const std::exception& error) {
    fail(job, {500, "server_error", "engine_failed", error.what()});
  }
}

/// Adds these tokens of the job to the history, by which later misses are explained.
void Scheduler::remember(const RunningJob& job, std::vector<int32_t> tokens) {
  history_.add({job.job->key, job.job->cache_salt, job.own_tree.method, std::move(tokens),
                job.job->parts, job.job->adapter});
}

/// Adds a snapshot with the tokens and legs that the job has now.
std::shared_ptr<Snapshot> Scheduler::keep(RunningJob& job, std::unique_ptr<ServedSequence> sequence,
                                          bool whole_prompt) {
  if (sequence == nullptr || job.legs.empty()) return nullptr;
  const Job& request = *job.job;
  const int64_t tokens = std::ssize(sequence->tokens());
  if (!whole_prompt) sequence->drop_logits();
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->sequence = std::move(sequence);
  snapshot->legs = job.legs;
  snapshot->key = job.own_tree;
  if (job.dense_stage) snapshot->key.method = dense_attention().text();
  snapshot->seconds = job.seconds_reused + job.computed;
  snapshot->kept_until = request.cache_seconds > 0 ? engine_.now() + request.cache_seconds : 0;
  snapshot->marked = std::ranges::count(request.checkpoints, tokens) > 0;
  snapshot->cold = job.cold;
  snapshot->whole_prompt = whole_prompt;
  snapshot->instruction = request.instruction;
  snapshot = cache_.insert(std::move(snapshot));
  if (snapshot == nullptr) return nullptr;
  if (whole_prompt) {
    if (job.rule.evicts_after_dense()) job.shared_bytes = 0;
    cache_.drop_covered(*snapshot, job.resume.tokens);
    remember(job, request.prompt);
  }
  if (whole_prompt && !request.pin.empty()) {
    pin(request.pin, snapshot);
    if (request.saved) unsaved_[request.pin] = {snapshot, request.saved};
  }
  trim_cache();
  return snapshot;
}

/// Pins a snapshot in the place of the one with this name; null: none.
void Scheduler::pin(const std::string& name, std::shared_ptr<Snapshot> snapshot) {
  if (const auto old = pins_.find(name); old != pins_.end()) {
    --old->second->pins;
    cache_.release(*old->second);
    pins_.erase(old);
  }
  if (snapshot == nullptr) return;
  ++snapshot->pins;
  cache_.lease(*snapshot);
  pins_[name] = std::move(snapshot);
}

size_t Scheduler::pinned_bytes() const {
  size_t sum = 0;
  for (const auto& [name, snapshot] : pins_) sum += snapshot->kv_bytes;
  return sum;
}

/// An abandoned prefill stays as far as it got.
void Scheduler::keep_abandoned(RunningJob& job) {
  if (!job.uses_cache || !job.sequence || job.rule.group == ResumeGroup::kQuestion ||
      (job.rule.evicts_after_dense() && !job.dense_stage)) {
    return;
  }
  job.most_bytes = 0;  // it grows no more
  const auto tokens = job.sequence->tokens();
  add_leg(job.legs, {std::ssize(tokens), false});
  remember(job, {tokens.begin(), tokens.end()});
  keep(job, std::move(job.sequence), false);
}

/// The sequence with the first reply waits for the next turn.
void Scheduler::keep_reply(RunningJob& job) {
  if (!job.uses_cache || job.choices.empty() || !job.choices.front().sequence) return;
  job.most_bytes = 0;  // it grows no more
  std::unique_ptr<ServedSequence> sequence = std::move(job.choices.front().sequence);
  const auto tokens = sequence->tokens();
  add_leg(job.legs, {std::ssize(tokens), true});
  remember(job, {tokens.begin(), tokens.end()});
  name_session(job, keep(job, std::move(sequence), false));
}

size_t Scheduler::most_cached() const {
  if (options_.cache_memory > 0) return options_.cache_memory;
  const size_t fixed = engine_.fixed_bytes();
  return options_.memory_limit > fixed ? (options_.memory_limit - fixed) / 2 : 0;
}

/// Evicts a snapshot. If there is host memory beside the device, it begins to move the snapshot
/// there, and the device's memory is freed later, unless `now` is true.
bool Scheduler::evict_one(bool now) {
  Snapshot* const victim = cache_.next_victim(engine_.now(), now || host_ == nullptr);
  if (victim == nullptr) return false;
  const bool on_host = victim->on_host != nullptr;
  if (host_ != nullptr && !on_host && !now && host_->move_out(*victim)) return true;
  if (victim->copying) return false;
  const size_t before = engine_.kv_bytes_in_use();
  cache_.evict(*victim);
  const size_t after = engine_.kv_bytes_in_use();
  metrics_.add("longhaul_evicted_bytes_total", on_host ? "to=\"host\"" : "to=\"nowhere\"",
               static_cast<double>(before - std::min(before, after)));
  metrics_.add("longhaul_cache_evictions_total", "");
  return true;
}

/// Evicts what exceeds `--cache-memory` or the memory limit.
void Scheduler::trim_cache() {
  const size_t most = most_cached();
  for (;;) {
    const MemoryBudget now = budget();
    if (host_ != nullptr) engine_.expect_host_use(engine_.host_use().in_use + now.evictable);
    const size_t leaving = host_ != nullptr ? host_->leaving_bytes() : 0;
    if (now.evictable <= most + leaving && now.to_evict(0) <= leaving) break;
    if (!evict_one()) break;
  }
  metrics_.set("longhaul_cache_snapshots", "", static_cast<double>(cache_.count()));
}

void Scheduler::report_cache(RunningJob& job) {
  CacheReport& report = job.report.cache;
  report.reused = job.report.cached_tokens = std::ssize(job.sequence->tokens());
  report.exact = job.cold;
  metrics_.add("longhaul_prompt_tokens_total", fmt::format("source=\"{}\"", job.reused_from),
               static_cast<double>(report.reused));
  if (!job.uses_cache) {
    report.reason = MissReason::kOff;
    return;
  }
  const Job& request = *job.job;
  history_.explain({request.key, request.cache_salt, job.own_tree.method, request.prompt,
                    request.parts, request.adapter},
                   request.instruction, job.rule, tokenizer_, report);
  if (report.reason == MissReason::kNone) return;
  const std::string labels = "why=\"" + std::string(name_of(report.reason)) + "\"";
  metrics_.add("longhaul_cache_misses_total", labels);
  metrics_.add("longhaul_cache_reread_tokens_total", labels,
               static_cast<double>(std::max<int64_t>(0, report.reusable - report.reused)));
}

}  // namespace longhaul::serve
