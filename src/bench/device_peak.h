#pragma once
// Measured peak speeds of a device: its own products with bf16 weights, and a copy within its
// memory.

#include "base/queue.h"
#include "bench/machine_peak.h"

namespace longhaul {

/// Sizes of the products and copies: large enough to saturate a large GPU.
struct DeviceLoad {
  int64_t rows = 8192;                    ///< rows of every product
  int64_t large = 8192;                   ///< outputs and columns of the largest one
  size_t copied_bytes = size_t{1} << 29;  ///< twice this size is allocated, if available
  double seconds = 0.15;                  ///< for each product, at least
};

/// Fills GemmPeak::engine for a large square product and the model's own shapes, in the precision
/// of `compute`, and memory_bytes_per_second with the bytes that a copy reads and writes. For a
/// team it measures the root device and multiplies by the number of devices. Throws UserError if
/// the device has too little memory.
MachinePeak measure_device(const Queue& queue, const Model& model, Compute compute,
                           const DeviceLoad& load = {});

}  // namespace longhaul
