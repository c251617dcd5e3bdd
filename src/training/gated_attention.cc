#include "training/gated_attention.h"

#include <algorithm>

#include "ops/attention/gate_mix.h"
#include "ops/core/fill.h"

namespace longhaul {
namespace {

View<float> output_of(Queue& queue, const TextAttention& shape, Array<float>& out) {
  return out.resize(queue, shape.tokens * shape.query_width());
}
View<float> lse_of(Queue& queue, const TextAttention& shape, Array<float>& lse) {
  return lse.resize(queue, shape.tokens * shape.heads);
}

GatedRows rows_of(const TextAttention& shape) {
  return {shape.tokens, shape.heads, shape.kv_heads, shape.head_dim};
}

}  // namespace

void FullAttention::forward(int layer, const AttentionRows& rows, View<float> mixed) {
  const TextAttention shape = decoder_.causal(layer);
  Queue& queue = decoder_.queue();
  attend_.store(shape, rows);
  attend_.attend(shape, rows.q, mixed, lse_of(queue, shape, lse_));
  if (keep_) outputs_.resize(std::max(outputs_.size(), static_cast<size_t>(layer) + 1));
  copy(queue, mixed, output_of(queue, shape, keep_ ? nth(outputs_, layer) : last_));
}

void FullAttention::backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                             const AttentionRowGradients& d) {
  const View<const float> out = keep_ ? output(layer) : last_.view();
  attention_backward(decoder_.queue(), decoder_.causal(layer),
                     {rows.q, rows.k, rows.v, out, lse_.view(), d_mixed}, d.q, d.k, d.v);
}

GatedAttention::GatedAttention(const FrozenDecoder& decoder, AttendCompute compute,
                               const Gates& gates, const Sight& sight, const FullAttention* model)
    : decoder_(decoder),
      attend_(decoder.queue(), compute),
      gates_(gates),
      sight_(sight),
      model_(model),
      gradient_(gates.size()) {
  for (size_t layer = 0; layer < gates.size(); ++layer) {
    fill(decoder.queue(), gradient_[layer].resize(decoder.queue(), std::ssize(gates[layer])), 0);
  }
}

Gates GatedAttention::gradient() const {
  Gates gradient = gates_;
  for (size_t layer = 0; layer < gradient.size(); ++layer) {
    copy(decoder_.queue(), gradient_[layer].view(), View<float>(std::span(gradient[layer])));
  }
  return gradient;
}

TextAttention GatedAttention::streaming(int layer) const {
  TextAttention shape = decoder_.causal(layer);
  if (shape.window < shape.tokens) return shape;  // only the model's own window is visible
  shape.sink = sight_.sink;
  shape.window = sight_.recent;
  return shape;
}

View<const float> GatedAttention::full_rows(int layer) const {
  return model_ != nullptr ? model_->output(layer) : full_.view();
}

/// The weight of full or streaming attention for every KV head; valid until the next call.
View<const float> GatedAttention::shares(int layer, bool of_full) {
  std::vector<float> shares;
  for (const float gate : nth(gates_, layer)) {
    const float a = std::clamp(gate, 0.0f, 1.0f);
    shares.push_back(of_full ? a : 1 - a);
  }
  const View<float> there = shares_.resize(decoder_.queue(), std::ssize(shares));
  copy(decoder_.queue(), View<const float>(std::span<const float>(shares)), there);
  return there;
}

void GatedAttention::forward(int layer, const AttentionRows& rows, View<float> mixed) {
  const TextAttention causal = decoder_.causal(layer), shape = streaming(layer);
  Queue& queue = decoder_.queue();
  attend_.store(shape, rows);
  if (model_ == nullptr) {
    attend_.attend(causal, rows.q, output_of(queue, causal, full_),
                   lse_of(queue, causal, full_lse_));
  }
  const View<float> near = output_of(queue, shape, streaming_);
  attend_.attend(shape, rows.q, near, lse_of(queue, shape, streaming_lse_));
  mix_gated(queue, rows_of(shape), shares(layer, true), full_rows(layer), near, mixed);
}

void GatedAttention::backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                              const AttentionRowGradients& d) {
  const TextAttention causal = decoder_.causal(layer), shape = streaming(layer);
  Queue& queue = decoder_.queue();
  add_gate_gradient(queue, rows_of(shape), d_mixed, full_rows(layer), streaming_.view(),
                    nth(gradient_, layer).view());
  const auto pass_on = [&](const TextAttention& seen, const Array<float>& out,
                           const Array<float>& lse, bool of_full) {
    const View<float> part = output_of(queue, seen, part_);
    scale_heads(queue, rows_of(seen), shares(layer, of_full), d_mixed, part);
    attention_backward(queue, seen, {rows.q, rows.k, rows.v, out.view(), lse.view(), part}, d.q,
                       d.k, d.v);
  };
  pass_on(shape, streaming_, streaming_lse_, false);
  if (model_ == nullptr) pass_on(causal, full_, full_lse_, true);
}

}  // namespace longhaul
