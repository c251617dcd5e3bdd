#pragma once
// Finds the address range of the pages that the tensor memory accelerator (TMA) of Hopper GPUs can
// read.

#include "ops/attention/attend.gpu.h"
#include "ops/core/device_room.h"
#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {

/// Returns the address range of the KV pages if a page has 64 keys and 64 values in bf16. The range
/// is empty on GPUs other than Hopper.
inline PageRange engine_pages(const GpuQueue& queue, int head_dim) {
  if (queue.capability() != 90) return {};
  return {queue.slabs().base(), queue.slabs().bytes(), bf16_page_bytes(head_dim)};
}

}  // namespace longhaul::cuda
