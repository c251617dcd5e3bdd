#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#ifdef LONGHAUL_OPENMP
#include <omp.h>
#endif

namespace longhaul {
namespace {

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::atomic<int>& threads() {
  static std::atomic<int> count{available_cores()};
  return count;
}

thread_local bool inside_parallel = false;

}  // namespace

int thread_count() { return threads().load(std::memory_order_relaxed); }

void set_thread_count(int count) {
  threads() = std::max(1, count);
#ifdef LONGHAUL_OPENMP
  omp_set_num_threads(std::max(1, count));
#endif
}

namespace detail {

void run_parallel(int64_t count, Body body, void* context) {
  const int workers = static_cast<int>(std::min<int64_t>(thread_count(), count));
  if (workers <= 1 || inside_parallel) {
    for (int64_t i = 0; i < count; ++i) body(context, i, 0);
    return;
  }
  std::atomic<int64_t> next{0};
  const auto drain = [&](int thread) {
    inside_parallel = true;
    for (int64_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      body(context, i, thread);
    }
    inside_parallel = false;
  };
#ifdef LONGHAUL_OPENMP
#pragma omp parallel num_threads(workers)
  drain(omp_get_thread_num());
#else
  std::vector<std::thread> pool;
  for (int t = 1; t < workers; ++t) pool.emplace_back(drain, t);
  drain(0);
  for (std::thread& thread : pool) thread.join();
#endif
}

}  // namespace detail
}  // namespace longhaul
