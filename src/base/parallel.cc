#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/pause.h"
#include "base/thread_limits.h"

namespace longhaul {
namespace {

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

thread_local bool inside_parallel = false;

/// Distributes the indices of one loop at a time. The caller also works, and waits only for workers
/// that have begun an index, so a worker that has lost its core to another process does not delay
/// it. (An OpenMP region waits for every thread of its team, milliseconds on a busy machine.)
class Pool {
 public:
  static Pool& instance() {
    static Pool pool;
    return pool;
  }

  int threads() const { return threads_.load(std::memory_order_relaxed); }

  void resize(int count) {
    const std::lock_guard lock(busy_);
    stop_workers();
    threads_ = count;
  }

  /// Returns false if another thread's loop uses the pool.
  bool run(int64_t count, detail::Body body, void* context) {
    const std::unique_lock lock(busy_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    if (workers_.empty()) start_workers();  // throws UserError
    body_ = body;
    context_ = context;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    open_.store(true);
    epoch_.fetch_add(1);
    epoch_.notify_all();
    drain(0);
    open_.store(false);
    wait_for_workers();
    if (failed_.exchange(false)) std::rethrow_exception(std::exchange(failure_, nullptr));
    return true;
  }

 private:
  // Decode has gaps of some tens of microseconds between loops, and waking a worker that slept
  // through them would cost more than it gains. The ends of a loop's threads are as close together;
  // otherwise a worker has lost its core, perhaps to the waiting thread.
  static constexpr int kSpins = 2000;

  Pool() : threads_(available_cores()) {}
  ~Pool() { stop_workers(); }

  void start_workers() {
    stop_ = false;
    try {
      for (int t = 1; t < threads_; ++t) workers_.emplace_back([this, t] { work(t); });
    } catch (const std::system_error& error) {
      const size_t running = workers_.size() + 1;
      stop_workers();  // otherwise the next loop would assume that these are all
      user_error("--threads {}: only {} could be started: {}{}", threads_.load(), running,
                 error.code().message(), thread_limits());
    }
  }

  void stop_workers() {
    stop_ = true;
    epoch_.fetch_add(1);
    epoch_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }

  void work(int thread) {
    uint32_t seen = 0;
    while (!stop_) {
      const uint32_t now = epoch_.load();
      if (now == seen) {
        wait_for_change(seen);
        continue;
      }
      seen = now;
      // The order matters: `working_` first, `open_` second. run() closes first and then checks
      // `working_`.
      working_.fetch_add(1);
      if (open_.load()) drain(thread);
      if (working_.fetch_sub(1) == 1) working_.notify_all();
    }
  }

  void wait_for_change(uint32_t seen) const {
    for (int i = 0; i < kSpins; ++i) {
      if (epoch_.load(std::memory_order_relaxed) != seen) return;
      pause_briefly();
    }
    epoch_.wait(seen);
  }

  void wait_for_workers() const {
    int left = working_.load();
    for (int i = 0; i < kSpins && left != 0; ++i, left = working_.load()) pause_briefly();
    for (; left != 0; left = working_.load()) working_.wait(left);
  }

  void drain(int thread) {
    inside_parallel = true;
    try {
      for (int64_t i; (i = next_.fetch_add(1)) < count_;) body_(context_, i, thread);
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
      next_.store(count_);
    }
    inside_parallel = false;
  }

  std::mutex busy_;  // one loop at a time
  std::vector<std::thread> workers_;
  std::atomic<int> threads_;
  std::atomic<bool> stop_{false}, open_{false};
  std::atomic<uint32_t> epoch_{0};
  std::atomic<int> working_{0};
  std::atomic<int64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;  // exception of the first body that threw
  detail::Body body_ = nullptr;
  void* context_ = nullptr;
  int64_t count_ = 0;
};

}  // namespace

int thread_count() { return Pool::instance().threads(); }

void set_thread_count(int count) {
  const int wanted = std::max(1, count);
  if (wanted != thread_count()) Pool::instance().resize(wanted);
}

namespace detail {

void run_parallel(int64_t count, Body body, void* context) {
  const bool alone = count <= 1 || inside_parallel || thread_count() == 1;
  if (!alone && Pool::instance().run(count, body, context)) return;
  for (int64_t i = 0; i < count; ++i) body(context, i, 0);
}

}  // namespace detail
}  // namespace longhaul
