#pragma once
// Declares one function for each method whose operations a GPU implements. methods/NAME/NAME.gpu.cc
// defines implement_NAME(). It sets the implementations in the queue's table
// (GpuQueue::implement()).

#include "ops/core/gpu/gpu_queue.gpu.h"

namespace longhaul::cuda {

void implement_adakv(GpuQueue& queue);
void implement_expectedattention(GpuQueue& queue);
void implement_fastgen(GpuQueue& queue);
void implement_flexprefill(GpuQueue& queue);
void implement_infllm(GpuQueue& queue);
void implement_keydiff(GpuQueue& queue);
void implement_ltri(GpuQueue& queue);
void implement_reattention(GpuQueue& queue);
void implement_roco(GpuQueue& queue);
void implement_xattention(GpuQueue& queue);

}  // namespace longhaul::cuda
