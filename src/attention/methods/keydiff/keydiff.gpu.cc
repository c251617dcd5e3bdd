// The GPU's operations of this method.

#include "attention/methods/keydiff/key_difference.gpu.h"
#include "attention/methods/keydiff/key_difference.h"
#include "ops/core/gpu/gpu_queue.gpu.h"
#include "ops/maps/scored.gpu.h"

namespace longhaul::cuda {
void implement_keydiff(GpuQueue& queue) { queue.implement(kKeyDifference, scored<key_difference>); }

}  // namespace longhaul::cuda
