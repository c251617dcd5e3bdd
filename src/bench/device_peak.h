#pragma once
// What a device can do at most, measured: its own products of bf16 weights, and a copy within its
// memory.

#include "base/queue.h"
#include "bench/machine_peak.h"

namespace longhaul {

/// How much is multiplied and copied: enough to fill a large GPU.
struct DeviceLoad {
  int64_t rows = 8192;                    ///< of every product
  int64_t large = 8192;                   ///< outputs and columns of the largest one
  size_t copied_bytes = size_t{1} << 29;  ///< twice that is allocated, where it is free
  double seconds = 0.15;                  ///< for each product, at least
};

/// GemmPeak::engine of a large square product and of the model's own shapes, in the numbers in
/// which `compute` multiplies, and in memory_bytes_per_second what a copy reads and writes. Of a
/// team what its leader reaches, times the number of its devices. Throws UserError where the device
/// has no room.
MachinePeak measure_device(const Queue& queue, const Model& model, Compute compute,
                           const DeviceLoad& load = {});

}  // namespace longhaul
