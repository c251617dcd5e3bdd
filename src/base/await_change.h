#pragma once
// Waits for another thread that will finish within microseconds.

#include <atomic>
#include <thread>

namespace longhaul {

/// Returns when `value` differs from `old`. Waking a thread takes ten microseconds, so it polls for
/// up to a millisecond before it sleeps. It does not poll if there are more `threads` waiting for
/// each other than processors, because the working threads need all processors.
template <class T>
void await_change(std::atomic<T>& value, T old, int threads) {
  static const int processors = static_cast<int>(std::thread::hardware_concurrency());
  const int looks = threads <= processors ? 20'000 : 0;
  for (int look = 0; look < looks && value.load() == old; ++look) __builtin_ia32_pause();
  while (value.load() == old) value.wait(old);
}

}  // namespace longhaul
