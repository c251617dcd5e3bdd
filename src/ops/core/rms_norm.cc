#include "ops/core/rms_norm.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/core/row_kernels.h"

namespace longhaul {
namespace {

constexpr int64_t kNormFloatsPerThread = 16 * 1024;  // fewer are not worth another thread

template <class Row>
void each_row(int64_t rows, int64_t n, Row&& row) {
  const int64_t grain = std::max<int64_t>(1, kNormFloatsPerThread / std::max<int64_t>(1, n));
  parallel_ranges(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) row(r);
  });
}

}  // namespace

void rms_norm(const float* x, const float* weight, float eps, int64_t rows, int64_t n, float* y) {
  const auto kernel = kRmsNorm_for(current_isa()).f32;
  each_row(rows, n, [&](int64_t r) { kernel(x + r * n, weight, eps, n, y + r * n); });
}

void rms_norm(const float* x, const float* weight, float eps, int64_t rows, int64_t n, bf16_t* y) {
  const auto kernel = kRmsNorm_for(current_isa()).bf16;
  each_row(rows, n, [&](int64_t r) { kernel(x + r * n, weight, eps, n, y + r * n); });
}

void rms_norm_heads(float* x, const float* weight, float eps, int64_t tokens, int64_t heads,
                    int64_t head_dim, int64_t token_stride) {
  const auto kernel = kRmsNorm_for(current_isa()).f32;
  each_row(tokens, heads * head_dim, [&](int64_t token) {
    float* row = x + token * token_stride;
    for (int64_t h = 0; h < heads; ++h, row += head_dim) kernel(row, weight, eps, head_dim, row);
  });
}

}  // namespace longhaul
