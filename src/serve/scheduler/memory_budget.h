#pragma once
// Decides whether a request fits into memory together with the other requests (admission control).

#include <cstddef>

namespace longhaul::serve {

enum class Admission { kAdmit, kWait, kNever };

/// The memory use at one moment, in bytes. The scheduler computes it before each decision.
struct MemoryBudget {
  size_t limit = 0;
  size_t fixed = 0;      ///< weights, activations and the process
  size_t in_use = 0;     ///< bytes of all sequences
  size_t evictable = 0;  ///< part of in_use: snapshots that may be evicted
  size_t reserved = 0;   ///< bytes by which running requests may still grow

  /// Decides about a request that needs at most `bytes` bytes. kNever: it would not fit even alone.
  /// kWait: it will fit when other requests have ended.
  Admission decide(size_t bytes) const {
    if (fixed + bytes > limit) return Admission::kNever;
    const size_t needed = fixed + (in_use - evictable) + reserved + bytes;
    return needed <= limit ? Admission::kAdmit : Admission::kWait;
  }
  /// Returns how many evictable bytes must be freed so that `bytes` more bytes fit.
  size_t to_evict(size_t bytes) const {
    const size_t needed = fixed + in_use + reserved + bytes;
    return needed > limit ? needed - limit : 0;
  }
};

}  // namespace longhaul::serve
