#pragma once
// A hint to the processor that a thread polls.

namespace longhaul {

/// Gives the other thread of the core its resources for some cycles.
inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace longhaul
