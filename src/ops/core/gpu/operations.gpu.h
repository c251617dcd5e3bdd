#pragma once
// Functions that set the GPU implementations of operations in a queue's table
// (base/device_table.h). Each function sets the operations of one folder.

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

/// Returns the list of such functions for folders outside ops. The constructor of GpuQueue calls
/// each of them with the new queue. add_method_operations() (attention/operations.h) sets the list
/// to the functions of the attention methods.
std::vector<void (*)(GpuQueue&)>& operations_of_other_rooms();

}  // namespace longhaul::cuda
