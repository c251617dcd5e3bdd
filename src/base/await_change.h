#pragma once
// Waits until another thread changes an atomic variable, usually within microseconds.

#include <atomic>
#include <thread>

#include "base/pause.h"

namespace longhaul {

/// Returns when `value` differs from `old`. Waking a sleeping thread takes ten microseconds, so the
/// function polls for up to a millisecond before it sleeps. `threads` is the number of threads that
/// wait for each other. If `threads` exceeds the number of processors, the function does not poll,
/// because the threads that still work need the processors.
template <class T>
void await_change(std::atomic<T>& value, T old, int threads) {
  static const int processors = static_cast<int>(std::thread::hardware_concurrency());
  const int looks = threads <= processors ? 20'000 : 0;
  for (int look = 0; look < looks && value.load() == old; ++look) pause_briefly();
  while (value.load() == old) value.wait(old);
}

}  // namespace longhaul
