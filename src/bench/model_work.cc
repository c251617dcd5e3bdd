#include "bench/model_work.h"

#include <algorithm>

namespace longhaul {

ModelWork work_of(const Model& model) {
  ModelWork work;
  for (const LayerWeights& layer : model.layers) {
    for (const TensorView* matrix :
         {&layer.q, &layer.k, &layer.v, &layer.output, &layer.gate, &layer.up, &layer.down}) {
      work.layer_weights += matrix->elements();
      work.weight_bytes += matrix->bytes();
    }
  }
  work.head_weights = model.head.elements();
  work.weight_bytes += model.head.bytes();
  return work;
}

int64_t causal_pairs(const ModelShape& shape, int64_t begin, int64_t rows) {
  // Sum over t in [from, to) of t + 1, row t seeing t + 1 keys.
  const auto triangle = [](int64_t from, int64_t to) {
    return (to * (to + 1) - from * (from + 1)) / 2;
  };
  int64_t pairs = 0;
  for (int layer = 0; layer < shape.layers; ++layer) {
    const size_t l = static_cast<size_t>(layer);
    const int64_t window = l < shape.window.size() ? shape.window[l] : 0;
    const int64_t end = begin + rows;
    if (window <= 0) {
      pairs += triangle(begin, end);
      continue;
    }
    const int64_t full = std::clamp(window, begin, end);  // from here on each row sees `window`
    pairs += triangle(begin, full) + (end - full) * window;
  }
  return pairs;
}

double prefill_flops(const Model& model, int64_t begin, int64_t rows) {
  const ModelWork work = work_of(model);
  const double weights = 2.0 * static_cast<double>(work.layer_weights) * static_cast<double>(rows) +
                         2.0 * static_cast<double>(work.head_weights);
  const double attention = 4.0 * model.shape.head_dim * model.shape.heads *
                           static_cast<double>(causal_pairs(model.shape, begin, rows));
  return weights + attention;
}

}  // namespace longhaul
