#pragma once
// Decides which requests fit into memory together.

#include <cstddef>

namespace longhaul::serve {

enum class Admission { kAdmit, kWait, kNever };

/// Bytes at one moment; the scheduler sums them up before each decision.
struct MemoryBudget {
  size_t limit = 0;
  size_t fixed = 0;      ///< weights, activations, the process
  size_t in_use = 0;     ///< sum over all sequences
  size_t evictable = 0;  ///< part of it: sequences that only wait for a next turn
  size_t reserved = 0;   ///< bytes by which running requests may still grow

  /// A request that needs `bytes` at most.
  Admission decide(size_t bytes) const {
    if (fixed + bytes > limit) return Admission::kNever;
    const size_t needed = fixed + (in_use - evictable) + reserved + bytes;
    return needed <= limit ? Admission::kAdmit : Admission::kWait;
  }
  /// Evictable bytes that must be freed before `bytes` more fit.
  size_t to_evict(size_t bytes) const {
    const size_t needed = fixed + in_use + reserved + bytes;
    return needed > limit ? needed - limit : 0;
  }
};

}  // namespace longhaul::serve
