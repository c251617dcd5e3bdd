// Kernel of ops/core/soft_cap.h for one thread.

#include "ops/core/isa/simd.h"
#include "ops/core/row_kernels.h"

namespace longhaul::LH_ISA {
namespace {

/// cap * tanh(x / cap) = cap - 2 cap / (e^(2 x / cap) + 1), with the exponent clamped so that large
/// x cannot overflow.
inline Vec capped(Vec x, float cap) {
  const Vec s = x * splat(2 * 1.44269504f / cap);
  const Vec power = exp2_precise(s < splat(100.0f) ? s : splat(100.0f));
  return splat(cap) - splat(2 * cap) / (power + splat(1.0f));
}

void f32(float scale, float cap, int64_t n, float* x) {
  for (int64_t i = 0; i < n; i += kLanes) {
    const int live = n - i < kLanes ? static_cast<int>(n - i) : kLanes;
    Vec v = load_first(x + i, live) * splat(scale);
    if (cap > 0) v = capped(v, cap);
    store_first(x + i, live, v);
  }
}

}  // namespace

const SoftCapTable kSoftCap = {f32};

}  // namespace longhaul::LH_ISA
