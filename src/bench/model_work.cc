#include "bench/model_work.h"

#include "ops/causal_pairs.h"

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

double prefill_flops(const Model& model, int64_t begin, int64_t rows) {
  const ModelWork work = work_of(model);
  const double weights = 2.0 * static_cast<double>(work.layer_weights) * static_cast<double>(rows) +
                         2.0 * static_cast<double>(work.head_weights);
  const double attention = 4.0 * model.shape.head_dim * model.shape.heads *
                           static_cast<double>(dense_pairs(model.shape.window, begin, rows));
  return weights + attention;
}

}  // namespace longhaul
