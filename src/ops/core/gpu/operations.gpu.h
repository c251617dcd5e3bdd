#pragma once
// The operations that a GPU implements (base/device_table.h), folder by folder. Each function sets
// the implementations of its folder's operations in the queue's table.

namespace longhaul::cuda {

class GpuQueue;

void implement_core(GpuQueue& queue);
void implement_attention(GpuQueue& queue);
void implement_maps(GpuQueue& queue);
void implement_choose(GpuQueue& queue);
void implement_blocks(GpuQueue& queue);
void implement_grad(GpuQueue& queue);
void implement_delta(GpuQueue& queue);

}  // namespace longhaul::cuda
