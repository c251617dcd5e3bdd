#pragma once
// Adapts launchers to GpuQueue::implement(). A launcher has the stream as its first parameter and
// the ScoreScratch as its last.

#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// A function that calls the launcher with the stream and the ScoreScratch of a queue. It can be
/// passed to GpuQueue::implement().
template <auto launch>
constexpr auto scored = [](GpuQueue& queue, auto&&... arguments) {
  return launch(queue.handle(), arguments..., queue.own<ScoreScratch>());
};

}  // namespace longhaul::cuda
