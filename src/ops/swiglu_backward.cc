#include "ops/swiglu_backward.h"

#include "base/parallel.h"
#include "ops/cpu/row_gradients.h"

namespace longhaul {

void swiglu_backward(const float* gate, const float* up, const float* dy, int64_t count,
                     float* d_gate, float* d_up) {
  constexpr int64_t kFloatsPerThread = 16 * 1024;
  const auto kernel = kRowGradients_for(current_isa()).swiglu;
  parallel_ranges(count, kFloatsPerThread, [&](int64_t begin, int64_t end) {
    kernel(gate + begin, up + begin, dy + begin, end - begin, d_gate + begin, d_up + begin);
  });
}

}  // namespace longhaul
