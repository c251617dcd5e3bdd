#pragma once
// Several short copies in one launch.

#include <span>

#include "base/device_queue.h"
#include "ops/cuda/stream.h"

namespace longhaul::cuda {

/// From the host: pieces that have multiples of 4 bytes travel with the launches, each as often as
/// it must be cut.
void send_pieces(Stream stream, std::span<const DeviceBytes> pieces);

/// From pinned memory: what one launch takes travels with it, since a copy between two kernels
/// costs the device several microseconds (H100: 9).
void send_plan(Stream stream, const DeviceBytes& plan);

/// Within device memory; addresses and sizes are multiples of 4.
void copy_pieces(Stream stream, std::span<const DeviceBytes> pieces);

}  // namespace longhaul::cuda
