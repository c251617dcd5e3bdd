#include "bench/model_work.h"

#include "ops/attention/causal_pairs.h"

namespace longhaul {

ModelWork work_of(const Model& model) {
  ModelWork work;
  const auto add = [&](const TensorView& matrix, int times) {
    if (matrix.data == nullptr) return;  // the model has no such matrix
    work.layer_weights += times * matrix.elements();
    work.weight_bytes += static_cast<size_t>(times) * matrix.bytes();
  };
  for (const LayerWeights& layer : model.layers) {
    for (const TensorView* matrix :
         {&layer.q, &layer.k, &layer.v, &layer.output, &layer.gate, &layer.up, &layer.down}) {
      add(*matrix, 1);
    }
    add(layer.router, 1);
    // Counts as many experts as a row uses; all have the same size.
    if (layer.experts.empty()) continue;
    const ExpertWeights& expert = layer.experts.front();
    for (const TensorView* matrix : {&expert.gate, &expert.up, &expert.down}) {
      add(*matrix, model.config.experts_used);
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
  const double attention =
      4.0 * model.shape.head_dim * model.shape.heads *
      static_cast<double>(dense_pairs(model.shape.window, begin, rows, model.shape.chunked));
  return weights + attention;
}

}  // namespace longhaul
