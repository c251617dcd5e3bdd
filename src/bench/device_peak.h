#pragma once
// Measures the peak speeds of a device: matrix multiplications with bf16 weights, and copying
// within its memory.

#include "base/queue.h"
#include "bench/machine_peak.h"

namespace longhaul {

/// The sizes of the matrix multiplications and of the copy. The defaults are large enough to use
/// all of a large GPU.
struct DeviceLoad {
  int64_t rows = 8192;   ///< rows of the input of each multiplication
  int64_t large = 8192;  ///< rows and columns of the largest weight matrix
  /// Size of the copy; twice this size is allocated, if available.
  size_t copied_bytes = size_t{1} << 29;
  /// Least duration of the measurement of each multiplication.
  double seconds = 0.15;
};

/// Measures a device. Sets GemmPeak::engine for a large square matrix and for the shapes of the
/// model's own matrices, in the precision of `compute`. memory_bytes_per_second counts the bytes
/// that the copy reads and those that it writes. If several devices share the model, measures the
/// root device and multiplies the results by the number of devices. Throws UserError if the device
/// has too little memory.
MachinePeak measure_device(const Queue& queue, const Model& model, Compute compute,
                           const DeviceLoad& load = {});

}  // namespace longhaul
