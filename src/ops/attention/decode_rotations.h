#pragma once
// Rotations for decode steps.

#include "ops/attention/rope.h"

namespace longhaul {

/// Fills the buffer with positions [first, first + count). A device also computes the positions of
/// the next steps at once, because one launch per sequence and token would take more time on the
/// host.
inline const Rotations& fill_for_decode(RotationBuffer& buffer, Queue& queue,
                                        const RopeTable& table, int64_t first, int64_t count) {
  constexpr int64_t kAhead = 64;
  const int64_t from = first / kAhead * kAhead;
  const bool ahead = !queue.on_host() && first + count <= from + kAhead;
  return ahead ? buffer.fill(queue, table, from, kAhead) : buffer.fill(queue, table, first, count);
}

}  // namespace longhaul
