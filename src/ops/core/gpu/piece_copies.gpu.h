#pragma once
// Several short copies in one launch.

#include <span>

#include "base/device_queue.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

inline bool whole_words(const DeviceBytes& piece) {
  const auto bits =
      reinterpret_cast<uintptr_t>(piece.from) | reinterpret_cast<uintptr_t>(piece.to) | piece.bytes;
  return bits % sizeof(uint32_t) == 0;
}

/// Copies from the host. Pieces that have multiples of 4 bytes are passed as kernel arguments, each
/// split as often as necessary.
void send_pieces(Stream stream, std::span<const DeviceBytes> pieces);

/// Copies from pinned memory. A copy between two kernels costs the device several microseconds
/// (H100: 9). Data that fits one launch is therefore passed as arguments, and other short data is
/// fetched by a kernel.
void send_pinned(Stream stream, const DeviceBytes& piece);

/// Copies within device memory or from pinned memory. Addresses and sizes are multiples of 4.
void copy_pieces(Stream stream, std::span<const DeviceBytes> pieces);

}  // namespace longhaul::cuda
