#pragma once
// CancelFlag is a request to stop a long computation. A signal handler or another thread sets it,
// and the computation reads it between steps.

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

/// Returns whether a stop was requested. `flag` is null for work that cannot be cancelled.
inline bool requested(const CancelFlag* flag) { return flag != nullptr && flag->requested(); }

}  // namespace longhaul
