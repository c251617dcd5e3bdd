#include "ops/grad/swiglu_backward.h"

#include "base/parallel.h"
#include "ops/core/device_ops.h"
#include "ops/grad/row_gradients.h"

namespace longhaul {

void swiglu_backward(Queue &queue, View<const float> gate, View<const float> up,
                     View<const float> dy, View<float> d_gate, View<float> d_up) {
  LH_ASSERT(gate.size() == dy.size() && up.size() == dy.size());
  LH_ASSERT(d_gate.size() == dy.size() && d_up.size() == dy.size());
  if (DeviceOps *device = device_ops(queue)) {
    if (device->swiglu_backward(gate, up, dy, d_gate, d_up)) return;
    HostStage on(queue);
    return swiglu_backward(host_queue(), on(gate), on(up), on(dy), on(d_gate), on(d_up));
  }
  constexpr int64_t kFloatsPerThread = 16 * 1024;
  const auto kernel = kRowGradients_for(current_isa()).swiglu;
  const float *const g = host(gate).data(), *const u = host(up).data(), *const d = host(dy).data();
  float *const to_gate = host(d_gate).data(), *const to_up = host(d_up).data();
  parallel_ranges(dy.size(), kFloatsPerThread, [&](int64_t begin, int64_t end) {
    kernel(g + begin, u + begin, d + begin, end - begin, to_gate + begin, to_up + begin);
  });
}

}  // namespace longhaul
