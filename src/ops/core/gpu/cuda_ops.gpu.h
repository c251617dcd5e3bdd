#pragma once
// The operations that GPUs have (ops/core/device_ops.h).

#include <memory>

#include "ops/core/device_ops.h"

namespace longhaul::cuda {

class GpuQueue;

/// `stream` must outlive them.
std::unique_ptr<DeviceOps> make_ops(GpuQueue& stream);

}  // namespace longhaul::cuda
