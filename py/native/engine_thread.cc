#include "engine_thread.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "ops/matmul/matvec.h"

namespace longhaul::python {
namespace {

constexpr double kTokenInterval = 0.020;  // seconds between two decode steps beside a prefill
constexpr int64_t kShortPrompt = 256;     // most tokens of a prompt between layers of a long one

EngineThread* running = nullptr;  // never destroyed: objects of Python outlive it
pid_t process_of_thread = 0;

}  // namespace

EngineThread& EngineThread::shared() {
  if (running != nullptr && process_of_thread != getpid()) {
    user_error(
        "this is a child of fork(), in which no threads of the engine exist: use the start method "
        "'spawn' of multiprocessing, or import longhaul after the fork");
  }
  static const bool started = [] {
    process_of_thread = getpid();
    running = new EngineThread;
    return true;
  }();
  static_cast<void>(started);
  return *running;
}

void EngineThread::submit(std::shared_ptr<PromptJob> job) {
  job->on_read_ = [this] {
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_one();
  };
  const std::lock_guard lock(mutex_);
  if (stopping_) user_error("the interpreter is shutting down");
  arrived_.push_back(std::move(job));
  changed_.notify_one();
}

std::future<void> EngineThread::post(std::function<void()> work) {
  auto task = std::make_shared<std::packaged_task<void()>>(std::move(work));
  std::future<void> done = task->get_future();
  const std::lock_guard lock(mutex_);
  if (stopping_) user_error("the interpreter is shutting down");
  calls_.emplace_back([task] { (*task)(); });
  changed_.notify_one();
  return done;
}

void EngineThread::run(const std::function<void()>& work) {
  if (std::this_thread::get_id() == thread_.get_id()) return work();
  post(work).get();
}

void EngineThread::release(std::shared_ptr<void> object) noexcept {
  if (running == nullptr) return;
  if (getpid() != process_of_thread) {
    new std::shared_ptr<void>(std::move(object));  // a child of fork() has no pages to give back
    return;
  }
  const std::lock_guard lock(running->mutex_);
  if (running->stopping_) return;
  running->calls_.emplace_back([held = std::move(object)]() mutable { held.reset(); });
  running->changed_.notify_one();
}

void EngineThread::stop() {
  if (running == nullptr || process_of_thread != getpid()) return;
  {
    const std::lock_guard lock(running->mutex_);
    if (running->stopping_) return;
    running->stopping_ = true;
    running->changed_.notify_one();
  }
  running->thread_.join();
}

/// Takes what other threads have posted. Returns false if the thread has to end.
bool EngineThread::take_posted() {
  std::deque<std::function<void()>> calls;
  {
    std::unique_lock lock(mutex_);
    const bool works = std::ranges::any_of(jobs_, [](const auto& job) {
      const bool waits = job->state_ == PromptJob::State::kDecoding && job->paused();
      return !waits || job->cancel.requested();
    });
    if (!works) {
      // A cancelled reply whose text nobody reads is found after a short while.
      const auto ready = [&] {
        return stopping_ || woken_ || !calls_.empty() || !arrived_.empty();
      };
      if (jobs_.empty()) {
        changed_.wait(lock, ready);
      } else {
        changed_.wait_for(lock, std::chrono::milliseconds(20), ready);
      }
    }
    woken_ = false;
    calls.swap(calls_);
    for (auto& job : arrived_) jobs_.push_back(std::move(job));
    arrived_.clear();
    if (stopping_) {
      for (const auto& job : jobs_) job->cancel.request();
    }
  }
  for (auto& call : calls) call();
  const std::lock_guard lock(mutex_);
  return !stopping_ || !jobs_.empty();
}

void EngineThread::loop() {
  while (take_posted()) {
    if (PromptJob* job = next_to_read()) {
      read(*job, job->model->runners->prompts, [&] { between_layers(*job); });
    } else {
      decode({});
    }
    drop_ended();
  }
}

void EngineThread::drop_ended() {
  std::erase_if(jobs_, [](const auto& job) { return job->state_ == PromptJob::State::kEnded; });
}

int EngineThread::most_replies(const PromptJob& job) const {
  // More rows than this would be a second product of the same matrices.
  return job.model->options.queue.on_host() ? static_cast<int>(kMatvecMaxRows) : 64;
}

int EngineThread::replies() const {
  return static_cast<int>(std::ranges::count_if(jobs_, [](const auto& job) {
    return job->state_ == PromptJob::State::kDecoding && !job->paused();
  }));
}

size_t EngineThread::bytes_of_replies() const {
  size_t bytes = 0;
  for (const auto& job : jobs_) {
    if (job->state_ == PromptJob::State::kDecoding) bytes += job->sequence->own_bytes();
  }
  return bytes;
}

/// The job whose prompt is read next; null if replies have to go on first.
PromptJob* EngineThread::next_to_read() {
  for (const auto& job : jobs_) {
    if (job->state_ == PromptJob::State::kPrefilling) return job.get();
  }
  for (const auto& job : jobs_) {
    if (job->state_ != PromptJob::State::kWaiting) continue;
    if (open(*job) && prepare(*job)) return job.get();
    if (job->state_ == PromptJob::State::kWaiting) return nullptr;
    // It has failed, or there is nothing to read.
  }
  return nullptr;
}

/// Opens the sequence of a waiting job. Returns whether it is open and may begin now.
bool EngineThread::open(PromptJob& job) {
  try {
    if (job.cancel.requested()) {
      job.result.stop = StopReason::kCancelled;
      finish(job);
      return false;
    }
    if (job.reply && replies() >= most_replies(job)) return false;
    OpenModel& model = *job.model;
    if (!model.runners) {
      model.runners =
          std::make_unique<Runners>(model.engine, model.options.queue, model.options.compute);
    }
    if (!job.sequence) {
      job.sequence = job.open(job.prompt);
      job.reused = std::ssize(job.sequence->tokens());
    }
    return true;
  } catch (...) {
    fail(job, std::current_exception());
    return false;
  }
}

/// Makes the prefill of an opened job if there is room for it. Returns whether its prompt can be
/// read now; a prompt that is known already begins its reply at once.
bool EngineThread::prepare(PromptJob& job) {
  try {
    Sequence& sequence = *job.sequence;
    const int64_t more = std::ssize(job.prompt) - job.reused;
    const int64_t most = job.reply ? std::max<int64_t>(0, job.reply->max_tokens) : 0;
    if (replies() > 0 && !sequence.has_room(more, most, bytes_of_replies())) return false;
    job.wait_seconds = job.since_submitted_.seconds();
    if (job.observer || job.watch) {
      sequence.observe([watch = job.watch, observer = job.observer](
                           const LayerStep& step, std::span<const AttendTask> tasks) {
        if (watch) watch->observe(step, tasks);
        if (observer) observer(step, tasks);
      });
    }
    job.prefill_watch_.emplace();
    if (more == 0) {
      sequence.check_room(0, most);
      begin_reply(job);
      return false;
    }
    const auto rest = std::span(job.prompt).subspan(static_cast<size_t>(job.reused));
    job.time_ = std::make_unique<PrefillTime>(job.reused);
    job.prefill_ = std::make_unique<Prefill>(sequence, rest, hooks_for(job, most));
    job.state_ = PromptJob::State::kPrefilling;
    return true;
  } catch (...) {
    fail(job, std::current_exception());
    return false;
  }
}

PrefillHooks EngineThread::hooks_for(PromptJob& job, int64_t reply) {
  PrefillHooks hooks;
  hooks.cancel = &job.cancel;
  hooks.instruction = job.instruction;
  hooks.reply = reply;
  hooks.all_logits = job.all_logits;
  hooks.pass_progress = [&job](int64_t begin, int64_t count, double share) {
    job.time_->add(begin, count, share, job.prefill_watch_->seconds(),
                   job.sequence->report().attention_seconds);
  };
  hooks.progress = [&job](int64_t done, int64_t total) { job.show(done, total); };
  return hooks;
}

void EngineThread::read(PromptJob& job, ModelRunner& runner, const std::function<void()>& yield) {
  try {
    const PrefillStep step = job.prefill_->step(runner, yield);
    if (step == PrefillStep::kMore) return;
    job.prefill_.reset();
    job.prefill_seconds = job.prefill_watch_->seconds();
    if (step == PrefillStep::kCancelled) {
      job.result.stop = StopReason::kCancelled;
      finish(job);
    } else {
      begin_reply(job);
    }
  } catch (...) {
    fail(job, std::current_exception());
  }
}

/// The prompt has been read.
void EngineThread::begin_reply(PromptJob& job) {
  if (!job.reply) return finish(job);
  GenerateOptions options = *job.reply;
  options.cancel = &job.cancel;
  job.state_ = PromptJob::State::kDecoding;
  job.generation_ = std::make_unique<Generation>(*job.sequence, options,
                                                 [&job](std::string_view text) { job.show(text); });
  if (job.generation_->ended()) finish(job);
}

/// Called between the layers of a long prompt: reads one short prompt, and decodes at most every
/// kTokenInterval. Replies of the same call wait for its other prompts, because a later batch of
/// all of them takes less time.
void EngineThread::between_layers(const PromptJob& prefilling) {
  if (in_short_prompt_) {
    if (since_decode_.seconds() >= kTokenInterval) decode(prefilling.group);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    for (auto& job : arrived_) jobs_.push_back(std::move(job));
    arrived_.clear();
    if (stopping_) {
      for (const auto& job : jobs_) job->cancel.request();
    }
  }
  if (since_decode_.seconds() < kTokenInterval) return;
  for (const auto& job : jobs_) {
    if (job->state_ != PromptJob::State::kWaiting || job->group == prefilling.group) continue;
    if (!open(*job) || std::ssize(job->prompt) - job->reused > kShortPrompt) continue;
    if (!prepare(*job)) continue;
    in_short_prompt_ = true;
    while (job->state_ == PromptJob::State::kPrefilling) {
      read(*job, job->model->runners->short_prompts, [&] { between_layers(*job); });
    }
    in_short_prompt_ = false;
    break;
  }
  decode(prefilling.group);
}

/// Decodes one token of every reply, except for those of the group `but`. Returns whether there
/// was one.
bool EngineThread::decode(std::optional<uint64_t> but) {
  std::vector<PromptJob*> ready;
  for (const auto& job : jobs_) {
    if (job->state_ != PromptJob::State::kDecoding || job->group == but) continue;
    if (job->paused() && !job->cancel.requested()) continue;
    ready.push_back(job.get());
  }
  if (ready.empty()) return false;
  std::ranges::stable_sort(ready, {}, [](const PromptJob* job) { return job->model.get(); });
  for (size_t begin = 0; begin < ready.size();) {
    size_t end = begin + 1;
    while (end < ready.size() && ready[end]->model == ready[begin]->model) ++end;
    decode_batch(std::span(ready).subspan(begin, end - begin));
    begin = end;
  }
  since_decode_ = Stopwatch();
  return true;
}

void EngineThread::decode_batch(std::span<PromptJob*> jobs) {
  std::vector<RunningReply> replies;
  for (PromptJob* job : jobs) {
    replies.push_back({job->sequence.get(), job->generation_.get()});
  }
  try {
    advance_together(jobs.front()->model->runners->replies, replies);
  } catch (...) {
    for (PromptJob* job : jobs) fail(*job, std::current_exception());
    return;
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (replies[i].failed) {
      fail(*jobs[i], replies[i].failed);
    } else if (jobs[i]->generation_->ended()) {
      finish(*jobs[i]);
    }
  }
}

void EngineThread::finish(PromptJob& job) {
  if (job.generation_) job.result = job.generation_->reply();
  if (job.sequence) {
    job.report = job.sequence->report();
    if (job.watch || job.observer) job.sequence->observe({});
  }
  job.generation_.reset();
  job.prefill_.reset();
  if (!job.keeps_sequence) job.sequence.reset();
  job.open = {};
  job.state_ = PromptJob::State::kEnded;
  job.end({});
}

void EngineThread::fail(PromptJob& job, std::exception_ptr error) {
  job.generation_.reset();
  job.prefill_.reset();
  job.sequence.reset();
  job.open = {};
  job.state_ = PromptJob::State::kEnded;
  job.end(std::move(error));
}

}  // namespace longhaul::python
