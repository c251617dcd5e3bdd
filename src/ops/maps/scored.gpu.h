#pragma once
// Adapts launchers to GpuQueue::implement(). A launcher has the stream as its first argument and
// the scratch of the queue as its last.

#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Calls the launcher with the stream and the scratch of the queue. Pass it to
/// GpuQueue::implement().
template <auto launch>
constexpr auto scored = [](GpuQueue& queue, auto&&... arguments) {
  return launch(queue.handle(), arguments..., queue.own<ScoreScratch>());
};

}  // namespace longhaul::cuda
