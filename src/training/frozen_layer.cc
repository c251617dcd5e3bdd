#include "training/frozen_layer.h"

#include "base/nth.h"
#include "ops/core/fill.h"
#include "ops/grad/rms_norm_backward.h"
#include "ops/grad/swiglu_backward.h"

namespace longhaul {

void TextRotations::fill(Queue& queue, const RopeTable& table, int64_t tokens) {
  forward_.fill(queue, table, 0, tokens);
  RopeTable back = table;
  for (double& frequency : back.inverse_frequency) frequency = -frequency;
  backward_.fill(queue, back, 0, tokens);
}

void FrozenLayer::project(int layer, View<const float> x, int64_t rows,
                          const TextRotations& rotations, LayerTrace& trace) {
  const ModelConfig& c = weights_->model().config;
  Queue& queue = weights_->queue();
  const int kv_heads = nth(c.kv_heads, layer);
  const int64_t kv_size = rows * kv_heads * c.head_dim;
  const View<float> q = trace.q.resize(queue, rows * c.heads * c.head_dim);
  const View<float> k = trace.k.resize(queue, kv_size), v = trace.v.resize(queue, kv_size);
  weights_->normalise(layer, RowNorm::kAttention, x, rows);
  const FrozenWeights::Product products[] = {{Matrix::kQ, q}, {Matrix::kK, k}, {Matrix::kV, v}};
  weights_->multiply(layer, products);
  const auto finish = [&](Matrix matrix, View<float> y, int heads, Array<float>& raw) {
    if (!weights_->head_norm(layer, matrix).empty()) {
      copy(queue, y, raw.resize(queue, y.size()));
      weights_->normalise_heads(layer, matrix, y, rows, heads);
    }
    weights_->split_pairs(y, rows, heads, false);
    apply_rope(queue, rotations.forward(), 0, y, rows, heads, c.head_dim, y);
  };
  finish(Matrix::kQ, q, c.heads, trace.raw_q);
  finish(Matrix::kK, k, kv_heads, trace.raw_k);
}

void FrozenLayer::mix(int layer, View<const float> x, View<const float> mixed, int64_t rows,
                      LayerTrace& trace) {
  const ModelConfig& c = weights_->model().config;
  Queue& queue = weights_->queue();
  const View<float> middle = trace.middle.resize(queue, rows * c.hidden);
  copy(queue, x, middle);
  weights_->take(mixed, rows);
  const FrozenWeights::Product output{Matrix::kOutput, middle, true};
  weights_->multiply(layer, {&output, 1});
  weights_->normalise(layer, RowNorm::kFfn, middle, rows);
  const FrozenWeights::Product products[] = {
      {Matrix::kGate, trace.gate.resize(queue, rows * c.ffn)},
      {Matrix::kUp, trace.up.resize(queue, rows * c.ffn)}};
  weights_->multiply(layer, products);
}

void FrozenLayer::feed(int layer, int64_t rows, LayerTrace& trace, View<float> y) {
  weights_->gate(trace.gate.view(), trace.up.view(), rows);
  copy(weights_->queue(), trace.middle.view(), y);
  const FrozenWeights::Product down{Matrix::kDown, y, true};
  weights_->multiply(layer, {&down, 1});
}

/// dx = dy W, or dx += dy W.
void FrozenLayer::pass_back(int layer, Matrix matrix, View<const float> dy, int64_t rows, bool add,
                            View<float> dx) {
  weights_->take(dy, rows);
  weights_->pass_back(layer, matrix, dx, add);
}

void FrozenLayer::mix_backward(int layer, int64_t rows, LayerTrace& trace, View<float> d,
                               View<float> d_mixed) {
  const ModelConfig& c = weights_->model().config;
  Queue& queue = weights_->queue();
  const View<float> inner = inner_.resize(queue, rows * c.ffn);
  const View<float> normed = normed_.resize(queue, rows * c.hidden);
  const View<float> gate = trace.gate.view(), up = trace.up.view();
  pass_back(layer, Matrix::kDown, d, rows, false, inner);
  swiglu_backward(queue, gate, up, inner, gate, up);
  pass_back(layer, Matrix::kGate, gate, rows, false, normed);
  pass_back(layer, Matrix::kUp, up, rows, true, normed);
  rms_norm_backward(queue, trace.middle.view(), weights_->norm(layer, RowNorm::kFfn), c.norm_eps,
                    normed, rows, c.hidden, d, true);
  pass_back(layer, Matrix::kOutput, d, rows, false, d_mixed);
}

void FrozenLayer::project_backward(int layer, View<const float> x, int64_t rows,
                                   const TextRotations& rotations, const LayerTrace& trace,
                                   View<float> dq, View<float> dk, View<float> dv, View<float> d) {
  const ModelConfig& c = weights_->model().config;
  Queue& queue = weights_->queue();
  const auto through_head = [&](Matrix matrix, View<float> dy, const Array<float>& raw, int heads) {
    apply_rope(queue, rotations.backward(), 0, dy, rows, heads, c.head_dim, dy);
    weights_->split_pairs(dy, rows, heads, true);
    const View<const float> weight = weights_->head_norm(layer, matrix);
    if (weight.empty()) return;
    rms_norm_backward(queue, raw.view(), weight, c.norm_eps, dy, rows * heads, c.head_dim, dy,
                      false);
  };
  through_head(Matrix::kQ, dq, trace.raw_q, c.heads);
  through_head(Matrix::kK, dk, trace.raw_k, nth(c.kv_heads, layer));
  const View<float> normed = normed_.resize(queue, rows * c.hidden);
  pass_back(layer, Matrix::kQ, dq, rows, false, normed);
  pass_back(layer, Matrix::kK, dk, rows, true, normed);
  pass_back(layer, Matrix::kV, dv, rows, true, normed);
  rms_norm_backward(queue, x, weights_->norm(layer, RowNorm::kAttention), c.norm_eps, normed, rows,
                    c.hidden, d, true);
}

}  // namespace longhaul
