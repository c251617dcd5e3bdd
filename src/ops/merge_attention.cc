#include "ops/merge_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"

namespace longhaul {

void merge_attention(const float* other_out, const float* other_lse, int64_t rows, int heads,
                     int head_dim, float* out, float* lse) {
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  parallel_ranges(rows * heads, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float top = std::max(lse[i], other_lse[i]);
      if (top == kNothing) continue;
      const float mine = std::exp(lse[i] - top), theirs = std::exp(other_lse[i] - top);
      const float sum = mine + theirs;
      float* o = out + i * head_dim;
      const float* other = other_out + i * head_dim;
      for (int t = 0; t < head_dim; ++t) o[t] = (o[t] * mine + other[t] * theirs) / sum;
      lse[i] = top + std::log(sum);
    }
  });
}

}  // namespace longhaul
