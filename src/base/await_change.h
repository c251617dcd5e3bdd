#pragma once
// Waiting for another thread that will be done within microseconds.

#include <atomic>
#include <thread>

namespace longhaul {

/// Returns once `value` is no longer `old`. To be woken takes ten microseconds, so it looks a while
/// before it sleeps, up to a millisecond; not where the `threads` that wait for each other are more
/// than the processors, of which those need all that are at work.
template <class T>
void await_change(std::atomic<T>& value, T old, int threads) {
  static const int processors = static_cast<int>(std::thread::hardware_concurrency());
  const int looks = threads <= processors ? 20'000 : 0;
  for (int look = 0; look < looks && value.load() == old; ++look) __builtin_ia32_pause();
  while (value.load() == old) value.wait(old);
}

}  // namespace longhaul
