#pragma once
// The pages that Hopper's copy engine can read.

#include "ops/attention/attend.gpu.h"
#include "ops/core/device_room.h"
#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {

/// Returns the range of the pages with 64 bf16 keys and values, as DevicePages lays them out. It is
/// empty on other cards.
inline PageRange engine_pages(const GpuQueue& queue, int head_dim) {
  if (queue.capability() != 90) return {};
  return {queue.slabs().base(), queue.slabs().bytes(), bf16_page_bytes(head_dim)};
}

}  // namespace longhaul::cuda
