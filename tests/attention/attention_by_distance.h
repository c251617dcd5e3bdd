#pragma once
// Reference for methods that move keys: which keys a row sees, and at which distance.

#include <cmath>
#include <optional>
#include <vector>

#include "attention/method_run.h"

namespace longhaul::testing_support {

/// Attention of one layer in double precision: row i sees key j at `distance(i, j)`, or not at all.
/// A rotated product depends on the distance only: <R(m) q, R(n) k> = <R(m - n) q, k>.
template <class Distance>
std::vector<double> attention_by_distance(const ModelShape& shape, int layer, const LayerInputs& in,
                                          int64_t tokens, Distance&& distance) {
  const int dim = shape.head_dim, half = dim / 2;
  const int kv_heads = shape.kv_heads[static_cast<size_t>(layer)];
  const int group = shape.heads / kv_heads;
  std::vector<double> out(static_cast<size_t>(tokens * shape.heads * dim));
  for (int64_t i = 0; i < tokens; ++i) {
    for (int head = 0; head < shape.heads; ++head) {
      const float* q = in.q.data() + (i * shape.heads + head) * dim;
      double* o = out.data() + (i * shape.heads + head) * dim;
      double sum = 0;
      for (int64_t j = 0; j <= i; ++j) {
        const std::optional<int64_t> apart = distance(i, j, head / group);
        if (!apart) continue;
        const float* k = in.k.data() + (j * kv_heads + head / group) * dim;
        double dot = 0;
        for (int t = 0; t < half; ++t) {
          const double angle =
              static_cast<double>(*apart) * shape.rope.inverse_frequency[static_cast<size_t>(t)];
          const double cosine = std::cos(angle), sine = std::sin(angle);
          dot += (q[t] * cosine - q[t + half] * sine) * k[t];
          dot += (q[t + half] * cosine + q[t] * sine) * k[t + half];
        }
        const double weight = std::exp(dot * shape.scale);
        sum += weight;
        const float* v = in.v.data() + (j * kv_heads + head / group) * dim;
        for (int t = 0; t < dim; ++t) o[t] += weight * v[t];
      }
      for (int t = 0; t < dim; ++t) o[t] /= sum;
    }
  }
  return out;
}

/// Checks that all outputs of `run` equal the definition with `distance(layer, kv_head, i, j)`.
template <class Distance>
void expect_by_distance(const MethodRun& run, Distance&& distance, double allowed = 3e-5) {
  for (int layer = 0; layer < run.shape.layers; ++layer) {
    const size_t l = static_cast<size_t>(layer);
    const auto want = attention_by_distance(
        run.shape, layer, run.inputs[l], run.done,
        [&](int64_t i, int64_t j, int kv_head) { return distance(layer, kv_head, i, j); });
    EXPECT_LT(largest_difference(run.out[l], want), allowed) << "layer " << layer;
  }
}

}  // namespace longhaul::testing_support
