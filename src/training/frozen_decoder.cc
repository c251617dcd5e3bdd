#include "training/frozen_decoder.h"

#include <algorithm>

#include "base/error.h"
#include "base/nth.h"
#include "ops/core/fill.h"
#include "ops/core/rms_norm.h"
#include "ops/grad/rms_norm_backward.h"

namespace longhaul {

FrozenDecoder::FrozenDecoder(const Model& model, std::unique_ptr<FrozenWeights> weights)
    : model_(model), layer_(std::move(weights)) {
  if (const std::string more = model.config.beyond_plain(); !more.empty()) {
    user_error("gradients of this model are not computed yet: it has {}", more);
  }
}

FrozenDecoder::FrozenDecoder(const Model& model, Compute compute)
    : FrozenDecoder(model, FrozenWeights::on_host(model, compute)) {}

FrozenDecoder::FrozenDecoder(const std::shared_ptr<const DeviceModel>& model)
    : FrozenDecoder(model->model(), FrozenWeights::on_device(model)) {}

size_t FrozenDecoder::device_bytes(const Model& model, int64_t tokens, bool keep) {
  const ModelConfig& c = model.config;
  const int64_t q = int64_t{c.heads} * c.head_dim;
  const int64_t kv = int64_t{*std::ranges::max_element(c.kv_heads)} * c.head_dim;
  const int64_t widest = std::max<int64_t>({c.hidden, c.ffn, q});
  // In f32: the stream before every layer and its gradient; a layer's values and their gradients
  // (LayerTrace, raw rows included, and the inputs of matrices); for gated attention two full
  // outputs, the near output and the gradient; lse and similar values.
  const int64_t streams = (c.layers + 2) * c.hidden + (keep ? c.layers * q : 0);
  const int64_t layer = 3 * q + 5 * kv + 2 * c.hidden + 3 * c.ffn;
  const int64_t attention = 5 * q + 4 * c.heads;
  // In bf16: inputs of products, and attention's rows, stored and packed.
  const int64_t bf16 = widest + 2 * q + 4 * kv;
  const int64_t row = (streams + layer + attention) * 4 + bf16 * 2;
  // A GPU's scratch memory for pairs of rows and keys, the library's memory, and a matrix in bf16.
  const int64_t fixed = (int64_t{1} << 30) + (int64_t{256} << 20) + widest * c.hidden * 2;
  return static_cast<size_t>(tokens * row / 4 * 5 + fixed);  // arrays grow by a quarter
}

TextAttention FrozenDecoder::causal(int layer) const {
  const ModelShape& shape = model_.shape;
  TextAttention causal;
  causal.tokens = tokens_;
  causal.heads = shape.heads;
  causal.kv_heads = nth(shape.kv_heads, layer);
  causal.head_dim = shape.head_dim;
  causal.scale = shape.scale;
  causal.window = shape.own_window(layer) > 0 ? shape.own_window(layer) : tokens_;
  return causal;
}

View<const float> FrozenDecoder::forward(std::span<const int32_t> tokens, AttentionRule& attention,
                                         bool keep) {
  const ModelConfig& c = model_.config;
  tokens_ = std::ssize(tokens);
  kept_ = keep;
  for (const int32_t token : tokens) LH_ASSERT(token >= 0 && token < c.vocab);
  const size_t streams = keep ? static_cast<size_t>(c.layers) + 1 : 1;
  if (inputs_.size() < streams) inputs_.resize(streams);
  const int64_t stream = tokens_ * c.hidden;
  rotations_.fill(queue(), make_rope(c.rope, tokens_), tokens_);
  const View<float> mixed = mixed_.resize(queue(), tokens_ * c.heads * c.head_dim);
  View<float> x = inputs_.front().resize(queue(), stream);
  layer_.weights().embed(tokens, x);
  for (int layer = 0; layer < c.layers; ++layer) {
    layer_.project(layer, x, tokens_, rotations_, trace_);
    attention.forward(layer, trace_.attention(), mixed);
    layer_.mix(layer, x, mixed, tokens_, trace_);
    if (keep) x = nth(inputs_, layer + 1).resize(queue(), stream);
    layer_.feed(layer, tokens_, trace_, x);
  }
  return x;
}

void FrozenDecoder::backward(AttentionRule& attention, View<float> d) {
  LH_ASSERT(kept_ && d.size() == tokens_ * model_.config.hidden);
  for (int layer = model_.config.layers - 1; layer >= 0; --layer) {
    const View<const float> x = nth(inputs_, layer).view();
    const View<float> mixed = mixed_.view();
    layer_.project(layer, x, tokens_, rotations_, trace_);
    attention.forward(layer, trace_.attention(), mixed);
    layer_.mix(layer, x, mixed, tokens_, trace_);
    layer_.mix_backward(layer, tokens_, trace_, d, mixed);
    const View<float> dq = dq_.resize(queue(), trace_.q.size());
    const View<float> dk = dk_.resize(queue(), trace_.k.size());
    const View<float> dv = dv_.resize(queue(), trace_.v.size());
    for (const View<float>& gradient : {dq, dk, dv}) fill(queue(), gradient, 0);
    attention.backward(layer, trace_.attention(), mixed, {dq, dk, dv});
    layer_.project_backward(layer, x, tokens_, rotations_, trace_, dq, dk, dv, d);
  }
}

void FrozenDecoder::final_norm(View<const float> hidden, int64_t rows, float* normed) const {
  const ModelConfig& c = model_.config;
  HostStage on(queue());
  rms_norm(host(on(hidden.part(0, rows * c.hidden))).data(), model_.final_norm.data(), c.norm_eps,
           rows, c.hidden, normed);
}

void FrozenDecoder::final_norm_backward(View<const float> hidden, const float* d_normed,
                                        int64_t rows, View<float> d_hidden) const {
  const ModelConfig& c = model_.config;
  const int64_t count = rows * c.hidden;
  HostStage on(queue());
  rms_norm_backward(host_queue(), on(hidden.part(0, count)),
                    View<const float>(std::span(model_.final_norm)), c.norm_eps, {d_normed, count},
                    rows, c.hidden, on(d_hidden.part(0, count)), false);
}

}  // namespace longhaul
