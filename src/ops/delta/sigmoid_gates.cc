#include "ops/delta/sigmoid_gates.h"

#include "base/on_device.h"
#include "ops/delta/delta_rule.h"

namespace longhaul {

void multiply_by_sigmoid(Queue& queue, View<float> x, View<const float> gate) {
  LH_ASSERT(x.size() == gate.size());
  if (on_device(kMultiplyBySigmoid, queue, x, gate)) return;
  HostStage on(queue);
  multiply_by_sigmoid(on(x).address(), on(gate).address(), x.size());
}

void add_gated(Queue& queue, View<float> y, View<const float> x, View<const float> gate) {
  if (gate.empty()) return;
  LH_ASSERT(x.size() == y.size() && x.size() % gate.size() == 0);
  if (on_device(kAddGated, queue, y, x, gate)) return;
  HostStage on(queue);
  add_gated(on(y).address(), on(x).address(), on(gate).address(), gate.size(),
            x.size() / gate.size());
}

}  // namespace longhaul
