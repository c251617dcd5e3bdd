#include "ops/attention/attention_kernels.h"
#include "ops/attention/key_rows.h"
#include "ops/maps/mean_kernels.h"

namespace longhaul::LH_ISA {
namespace {

void keys(const PagedRows& rows, int64_t begin, int64_t end, float* out) {
  const StoredRows stored = keys_of(rows);
  const int dim = rows.head_dim;
  float row[kMostHeadDim];
  for (int t = 0; t < dim; ++t) out[t] = 0.0f;
  for (int64_t i = begin; i < end; ++i) {
    load_row(stored, stored.at(i), row);
    for (int t = 0; t < dim; ++t) out[t] += row[t];
  }
  const float inverse = 1.0f / static_cast<float>(end - begin);
  for (int t = 0; t < dim; ++t) out[t] *= inverse;
}

void scores(const float* query, const float* means, int64_t blocks, int head_dim, float scale,
            float* scores) {
  for (int64_t b = 0; b < blocks; ++b, means += head_dim) {
    scores[b] = scale * dot(query, means, head_dim);
  }
}

}  // namespace

extern const MeanKernels kMeanKernels = {keys, scores};

}  // namespace longhaul::LH_ISA
