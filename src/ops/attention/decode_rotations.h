#pragma once
// The rotation tables (RoPE) for decode steps.

#include "ops/attention/rope.h"

namespace longhaul {

/// Fills the buffer with the rotations of positions [first, first + count). On a device, it
/// computes the rotations of 64 consecutive positions at once, because a kernel launch for each
/// token of each sequence would cost the host more time.
inline const Rotations& fill_for_decode(RotationBuffer& buffer, Queue& queue,
                                        const RopeTable& table, int64_t first, int64_t count) {
  constexpr int64_t kAhead = 64;
  const int64_t from = first / kAhead * kAhead;
  const bool ahead = !queue.on_host() && first + count <= from + kAhead;
  return ahead ? buffer.fill(queue, table, from, kAhead) : buffer.fill(queue, table, first, count);
}

}  // namespace longhaul
