#pragma once
// Defines a hint to the processor for loops that poll.

namespace longhaul {

/// Pauses the calling thread for some cycles. Meanwhile, the other hardware thread of the core can
/// use the core's resources.
inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#endif
}

}  // namespace longhaul
