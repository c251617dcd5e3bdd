// The GPU's operations of this method.

#include "attention/methods/expectedattention/expected_attention.gpu.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/maps/scored.gpu.h"

namespace longhaul::cuda {
void implement_expectedattention(GpuQueue& queue) {
  queue.implement(kAddQueryMoments, [](GpuQueue& on, auto&&... arguments) {
    return add_query_moments(on.handle(), arguments...);
  });
  queue.implement(kExpectedAttention, scored<expected_attention>);
}

}  // namespace longhaul::cuda
