#pragma once
// Distributes work over the cores with one thread pool for the whole process. No other code
// distributes work over the cores.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace longhaul {

/// Returns the number of threads that parallel_for() uses, at least 1. The default is the number of
/// cores on which this process may run.
int thread_count();
void set_thread_count(int count);

namespace detail {
using Body = void (*)(void* context, int64_t index, int thread);
void run_parallel(int64_t count, Body body, void* context);
}  // namespace detail

/// Calls body(index, thread) once for each index in [0, count), and returns when all calls have
/// ended. Calls start in ascending order of the index. `thread` is in [0, thread_count()). If a
/// call throws, the exception is rethrown in the caller, and indices that have not started are
/// skipped. Inside another parallel_for(), and while another thread runs a parallel_for(), the
/// calling thread makes all calls itself, as thread 0.
template <class Body>
void parallel_for(int64_t count, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  detail::run_parallel(
      count,
      [](void* context, int64_t index, int thread) {
        (*static_cast<Plain*>(context))(index, thread);
      },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

/// Splits [0, count) into at most thread_count() ranges, and calls body(begin, end) for each. Each
/// range begins at a multiple of `grain`.
template <class Body>
void parallel_ranges(int64_t count, int64_t grain, Body&& body) {
  const int64_t units = (count + grain - 1) / grain;
  const int64_t parts = units < thread_count() ? units : thread_count();
  parallel_for(parts, [&](int64_t part, int) {
    const int64_t begin = units * part / parts * grain;
    const int64_t end = units * (part + 1) / parts * grain;
    body(begin, end < count ? end : count);
  });
}

/// Calls body(index) once for each index in [0, count). It is faster than parallel_for() if
/// adjacent indices read adjacent memory. Each thread processes a run of adjacent indices, so the
/// processor has prefetched the memory of the next index. A thread that has finished its run helps
/// with the runs of other threads.
template <class Body>
void parallel_runs(int64_t count, Body&& body) {
  constexpr int64_t kMostRuns = 64;
  struct alignas(64) Cursor {
    std::atomic<int64_t> next{0};
  };
  Cursor cursors[kMostRuns];
  const int64_t runs = std::min({count, int64_t{thread_count()}, kMostRuns});
  const auto first = [&](int64_t run) { return count * run / runs; };
  parallel_for(runs, [&](int64_t own, int) {
    for (int64_t i = 0; i < runs; ++i) {
      const int64_t run = (own + i) % runs, begin = first(run), end = first(run + 1);
      std::atomic<int64_t>& next = cursors[run].next;
      for (int64_t at; (at = begin + next.fetch_add(1, std::memory_order_relaxed)) < end;) body(at);
    }
  });
}

}  // namespace longhaul
