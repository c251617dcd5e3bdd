#pragma once
// The one thread of a Python process that computes. All threads of Python, and all models, queue
// their work here, because the thread pool of the kernels has one caller at a time
// (base/parallel.h).

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "prompt_job.h"

namespace longhaul::python {

class EngineThread {
 public:
  /// The thread of this process, which is started on first use. Throws UserError in a child of
  /// fork(): the thread pool does not exist there.
  static EngineThread& shared();

  /// Queues a job. Jobs are read in the order of their arrival.
  void submit(std::shared_ptr<PromptJob> job);
  /// Runs work on the thread between two groups of passes.
  std::future<void> post(std::function<void()> work);
  /// The same, and waits for it. Rethrows its exception.
  void run(const std::function<void()>& work);
  /// Destroys an object on the thread, which alone uses the pages of sequences.
  static void release(std::shared_ptr<void> object) noexcept;
  /// Cancels all jobs and ends the thread. Python calls it at exit.
  static void stop();

 private:
  EngineThread() : thread_([this] { loop(); }) {}

  using Jobs = std::list<std::shared_ptr<PromptJob>>;
  void loop();
  bool take_posted();
  void drop_ended();
  PromptJob* next_to_read();
  bool open(PromptJob& job);
  bool prepare(PromptJob& job);
  PrefillHooks hooks_for(PromptJob& job, int64_t depth);
  void read(PromptJob& job, ModelRunner& runner, const std::function<void()>& yield);
  void begin_reply(PromptJob& job);
  bool decode(std::optional<uint64_t> but);
  void decode_batch(std::span<PromptJob*> jobs);
  void between_layers(const PromptJob& prefilling);
  void finish(PromptJob& job);
  void fail(PromptJob& job, std::exception_ptr error);
  int most_replies(const PromptJob& job) const;
  int replies() const;
  size_t bytes_of_replies() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> calls_;
  std::deque<std::shared_ptr<PromptJob>> arrived_;
  bool woken_ = false;
  bool stopping_ = false;

  Jobs jobs_;  ///< in order of arrival; the engine's thread only
  Stopwatch since_decode_;
  bool in_short_prompt_ = false;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace longhaul::python
