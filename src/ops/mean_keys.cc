#include "ops/mean_keys.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/cpu/mean_kernels.h"

namespace longhaul {

void mean_keys(const PagedRows& rows, int64_t count, int block, float* out) {
  LH_ASSERT(block > 0 && rows.head_dim > 0 && rows.head_dim <= 1024);
  const MeanKernels& kernels = kMeanKernels_for(current_isa());
  const int64_t blocks = (count + block - 1) / block;
  parallel_ranges(blocks, 16, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      kernels.keys(rows, b * block, std::min(count, (b + 1) * block), out + b * rows.head_dim);
    }
  });
}

void mean_query(const float* q, int heads, int head_dim, int head, int64_t begin, int64_t end,
                float* out) {
  std::fill_n(out, head_dim, 0.0f);
  for (int64_t r = begin; r < end; ++r) {
    const float* row = q + (r * heads + head) * head_dim;
    for (int t = 0; t < head_dim; ++t) out[t] += row[t];
  }
  for (int t = 0; t < head_dim; ++t) out[t] /= static_cast<float>(end - begin);
}

void mean_scores(const float* query, const float* means, int64_t blocks, int head_dim, float scale,
                 float* scores) {
  kMeanKernels_for(current_isa()).scores(query, means, blocks, head_dim, scale, scores);
}

void softmax_of(std::span<float> scores) {
  if (scores.empty()) return;
  const float top = *std::max_element(scores.begin(), scores.end());
  float sum = 0.0f;
  for (float& s : scores) sum += s = std::exp(s - top);
  for (float& s : scores) s /= sum;
}

}  // namespace longhaul
