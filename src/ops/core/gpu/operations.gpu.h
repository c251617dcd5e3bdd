#pragma once
// Sets the GPU implementations of operations in a queue's table (base/device_table.h). Each
// function sets those of one folder.

#include <vector>

namespace longhaul::cuda {

class GpuQueue;

void implement_core(GpuQueue& queue);
void implement_attention(GpuQueue& queue);
void implement_maps(GpuQueue& queue);
void implement_choose(GpuQueue& queue);
void implement_blocks(GpuQueue& queue);
void implement_grad(GpuQueue& queue);
void implement_delta(GpuQueue& queue);
void implement_ssm(GpuQueue& queue);

/// Returns the functions that set the operations of folders other than ops, for example those of
/// attention/operations.h. Every GPU that is opened calls them.
std::vector<void (*)(GpuQueue&)>& operations_of_other_rooms();

}  // namespace longhaul::cuda
