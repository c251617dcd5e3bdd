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

/// Copies pieces from host memory to device memory. Pieces whose size is a multiple of 4 bytes are
/// passed as kernel arguments. A long piece is split over several launches.
void send_pieces(Stream stream, std::span<const DeviceBytes> pieces);

/// Copies a piece from pinned memory. A copy command between two kernels costs the device several
/// microseconds (9 on an H100). A piece that fits into the arguments of one launch is therefore
/// passed as arguments. Other short pieces are read by a kernel.
void send_pinned(Stream stream, const DeviceBytes& piece);

/// Copies pieces within device memory, or from pinned memory to device memory. Addresses and sizes
/// are multiples of 4.
void copy_pieces(Stream stream, std::span<const DeviceBytes> pieces);

}  // namespace longhaul::cuda
