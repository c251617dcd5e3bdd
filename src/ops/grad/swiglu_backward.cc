#include "ops/grad/swiglu_backward.h"

#include "base/on_device.h"
#include "base/parallel.h"
#include "ops/grad/row_gradients.h"

namespace longhaul {

void swiglu_backward(Queue& queue, View<const float> gate, View<const float> up,
                     View<const float> dy, View<float> d_gate, View<float> d_up) {
  LH_ASSERT(gate.size() == dy.size() && up.size() == dy.size());
  LH_ASSERT(d_gate.size() == dy.size() && d_up.size() == dy.size());
  if (on_device(kSwigluBackward, queue, gate, up, dy, d_gate, d_up)) return;
  HostStage on(queue);
  constexpr int64_t kFloatsPerThread = 16 * 1024;
  const auto kernel = kRowGradients_for(current_isa()).swiglu;
  const float* const g = host(on(gate)).data();
  const float* const u = host(on(up)).data();
  const float* const d = host(on(dy)).data();
  float* const to_gate = host(on(d_gate)).data();
  float* const to_up = host(on(d_up)).data();
  parallel_ranges(dy.size(), kFloatsPerThread, [&](int64_t begin, int64_t end) {
    kernel(g + begin, u + begin, d + begin, end - begin, to_gate + begin, to_up + begin);
  });
}

}  // namespace longhaul
