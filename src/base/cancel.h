#pragma once
// Request to stop long work. It is set from a signal handler or another thread and read between
// steps.

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

/// Work that cannot be cancelled has no flag.
inline bool requested(const CancelFlag* flag) { return flag != nullptr && flag->requested(); }

}  // namespace longhaul
