#pragma once
// Performs several short copies in one launch.

#include <span>

#include "base/device_queue.h"
#include "ops/core/gpu/stream.h"

namespace longhaul::cuda {

inline bool whole_words(const DeviceBytes& piece) {
  const auto bits =
      reinterpret_cast<uintptr_t>(piece.from) | reinterpret_cast<uintptr_t>(piece.to) | piece.bytes;
  return bits % sizeof(uint32_t) == 0;
}

/// Copies pieces from host memory to device memory by passing their contents as kernel arguments.
/// whole_words() must be true for each piece. A piece that does not fit into the arguments of one
/// launch is split over several launches.
void send_pieces(Stream stream, std::span<const DeviceBytes> pieces);

/// Copies a piece from pinned memory to device memory. A copy command between two kernels costs the
/// device several microseconds (9 on an H100). Two cases avoid it if whole_words() is true. A piece
/// that fits into the arguments of one launch is passed as a kernel argument. A larger piece of up
/// to 256 KiB is read from pinned memory by a kernel.
void send_pinned(Stream stream, const DeviceBytes& piece);

/// Copies pieces within device memory, or from pinned memory to device memory, by a kernel.
/// Addresses and sizes must be multiples of 4.
void copy_pieces(Stream stream, std::span<const DeviceBytes> pieces);

}  // namespace longhaul::cuda
