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

/// From the host: pieces that have multiples of 4 bytes travel with the launches, each as often as
/// it must be cut.
void send_pieces(Stream stream, std::span<const DeviceBytes> pieces);

/// From pinned memory. A copy between two kernels costs the device several microseconds (H100: 9):
/// what one launch takes travels with it, and what is not long is fetched by a kernel.
void send_pinned(Stream stream, const DeviceBytes& piece);

/// Within device memory, or from pinned memory; addresses and sizes are multiples of 4.
void copy_pieces(Stream stream, std::span<const DeviceBytes> pieces);

}  // namespace longhaul::cuda
