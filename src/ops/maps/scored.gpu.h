#pragma once
// Launchers that take the stream first and the scratch of the queue last.

#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// For GpuQueue::implement(): calls the launcher with the queue's stream and scratch.
template <auto launch>
constexpr auto scored = [](GpuQueue& queue, auto&&... arguments) {
  return launch(queue.handle(), arguments..., queue.own<ScoreScratch>());
};

}  // namespace longhaul::cuda
