#pragma once
// Measures peak speeds of a device: products with bf16 weights by the device's own operations, and
// a copy within its memory.

#include "base/queue.h"
#include "bench/machine_peak.h"

namespace longhaul {

/// Sizes of the products and copies. They are large enough to saturate a large GPU.
struct DeviceLoad {
  int64_t rows = 8192;                    ///< rows of each product
  int64_t large = 8192;                   ///< outputs and columns of the largest product
  size_t copied_bytes = size_t{1} << 29;  ///< twice this size is allocated, if available
  double seconds = 0.15;                  ///< minimum time for each product
};

/// Measures a device. Sets GemmPeak::engine for a large square product and for the model's own
/// shapes, in the precision of `compute`. Sets memory_bytes_per_second to the bytes that a copy
/// reads and writes. If several devices share the model, it measures the root device and multiplies
/// by their number. Throws UserError if the device has too little memory.
MachinePeak measure_device(const Queue& queue, const Model& model, Compute compute,
                           const DeviceLoad& load = {});

}  // namespace longhaul
