#pragma once
// Finds the pages that Hopper's copy engine can read.

#include "ops/attention/attend.gpu.h"
#include "ops/core/device_room.h"
#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {

/// Returns the address range of the pages of 64 bf16 keys and values, in the layout of DevicePages.
/// The range is empty on cards other than Hopper.
inline PageRange engine_pages(const GpuQueue& queue, int head_dim) {
  if (queue.capability() != 90) return {};
  return {queue.slabs().base(), queue.slabs().bytes(), bf16_page_bytes(head_dim)};
}

}  // namespace longhaul::cuda
