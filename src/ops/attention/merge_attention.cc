#include "ops/attention/merge_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/host_stage.h"
#include "base/on_device.h"
#include "base/parallel.h"

namespace longhaul {

void merge_attention(Queue &queue, View<const float> other_out, View<const float> other_lse,
                     int64_t rows, int heads, int head_dim, View<float> out, View<float> lse) {
  if (on_device(kMergeAttention, queue, other_out, other_lse, rows, heads, head_dim, out, lse))
    return;
  HostStage on(queue);
  const int64_t vectors = rows * heads;
  LH_ASSERT(out.size() >= vectors * head_dim && other_out.size() >= vectors * head_dim);
  LH_ASSERT(lse.size() >= vectors && other_lse.size() >= vectors);
  float *const into = host(on(out)).data(), *const into_lse = host(on(lse)).data();
  const float *const from = host(on(other_out)).data();
  const float *const from_lse = host(on(other_lse)).data();
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  parallel_ranges(vectors, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (from_lse[i] == kNothing) continue;
      const float top = std::max(into_lse[i], from_lse[i]);
      const float mine = std::exp(into_lse[i] - top), theirs = std::exp(from_lse[i] - top);
      const float sum = mine + theirs;
      float *o = into + i * head_dim;
      const float *other = from + i * head_dim;
      for (int t = 0; t < head_dim; ++t) o[t] = (o[t] * mine + other[t] * theirs) / sum;
      into_lse[i] = top + std::log(sum);
    }
  });
}

}  // namespace longhaul
