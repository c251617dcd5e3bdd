#pragma once
// Asking long work to stop. Set from a signal handler or another thread, read between steps.

#include <atomic>

namespace longhaul {

class CancelFlag {
 public:
  void request() { requested_.store(true, std::memory_order_relaxed); }
  void clear() { requested_.store(false, std::memory_order_relaxed); }
  bool requested() const { return requested_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> requested_{false};
};

/// Work that nobody can cancel has no flag.
inline bool requested(const CancelFlag* flag) { return flag != nullptr && flag->requested(); }

}  // namespace longhaul
