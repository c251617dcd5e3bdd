#pragma once
// Adapts launchers to GpuQueue::implement(). A launcher has the stream as its first argument and
// the scratch of the queue as its last.

#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/maps/score_scratch.gpu.h"

namespace longhaul::cuda {

/// Returns from implement()'s function: calls the launcher with the stream and scratch of the
/// queue.
template <auto launch>
constexpr auto scored = [](GpuQueue& queue, auto&&... arguments) {
  return launch(queue.handle(), arguments..., queue.own<ScoreScratch>());
};

}  // namespace longhaul::cuda
