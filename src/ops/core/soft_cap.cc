#include "ops/core/soft_cap.h"

#include "base/parallel.h"
#include "ops/core/row_kernels.h"

namespace longhaul {

void scale_and_cap(float* x, int64_t count, float scale, float cap) {
  constexpr int64_t kFloatsPerThread = 16 * 1024;  // fewer are not worth another thread
  parallel_ranges(count, kFloatsPerThread, [&](int64_t begin, int64_t end) {
    kSoftCap_for(current_isa()).f32(scale, cap, end - begin, x + begin);
  });
}

}  // namespace longhaul
