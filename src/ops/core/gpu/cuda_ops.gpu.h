#pragma once
// Creates the DeviceOps of a GPU (ops/core/device_ops.h).

#include <memory>

#include "ops/core/device_ops.h"

namespace longhaul::cuda {

class GpuQueue;

/// Returns the operations of the GPU that `stream` belongs to. `stream` must outlive the result.
std::unique_ptr<DeviceOps> make_ops(GpuQueue& stream);

}  // namespace longhaul::cuda
