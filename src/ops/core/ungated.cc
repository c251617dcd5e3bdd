#include "ops/core/ungated.h"

#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "base/on_device.h"
#include "base/parallel.h"

namespace longhaul {

void activate(Ungated function, const Xielu& xielu, float* x, int64_t count) {
  LH_ASSERT(function != Ungated::kNone);
  parallel_ranges(count, 8 * 1024, [&](int64_t begin, int64_t end) {
    if (function == Ungated::kSquaredRelu) {
      for (int64_t i = begin; i < end; ++i) {
        const float positive = std::max(x[i], 0.0f);
        x[i] = positive * positive;
      }
      return;
    }
    for (int64_t i = begin; i < end; ++i) {
      const float v = x[i];
      x[i] = xielu.beta * v + (v > 0 ? xielu.alpha_p * v * v
                                     : (std::expm1(std::min(v, xielu.eps)) - v) * xielu.alpha_n);
    }
  });
}

void activate(Queue& queue, Ungated function, const Xielu& xielu, View<float> x) {
  if (on_device(kActivate, queue, function, xielu, x)) return;
  HostStage on(queue);
  activate(function, xielu, on(x).address(), x.size());
}

}  // namespace longhaul
