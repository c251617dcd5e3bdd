#include "training/gated_attention.h"

#include <algorithm>

#include "base/nth.h"
#include "base/parallel.h"

namespace longhaul {
namespace {

void resize(const TextAttention& shape, Buffer<float>& out, Buffer<float>& lse) {
  out.resize(static_cast<size_t>(shape.tokens * shape.query_width()));
  lse.resize(static_cast<size_t>(shape.tokens * shape.heads));
}

/// Calls body(at, gate) with where the numbers of each row's query heads begin, in parallel.
template <class Body>
void each_head(const TextAttention& shape, const std::vector<float>& gates, Body&& body) {
  const int group = shape.heads / shape.kv_heads;
  parallel_ranges(shape.tokens, 64, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int head = 0; head < shape.heads; ++head) {
        body((row * shape.heads + head) * shape.head_dim, nth(gates, head / group));
      }
    }
  });
}

}  // namespace

void FullAttention::forward(int layer, const AttentionRows& rows, float* mixed) {
  const TextAttention shape = decoder_.causal(layer);
  resize(shape, last_, lse_);
  attend_.forward(shape, rows, mixed, lse_.data());
  Buffer<float>* kept = &last_;
  if (keep_) {
    outputs_.resize(std::max(outputs_.size(), static_cast<size_t>(layer) + 1));
    kept = &nth(outputs_, layer);
    kept->resize(last_.size());
  }
  std::copy_n(mixed, last_.size(), kept->data());
}

void FullAttention::backward(int layer, const AttentionRows& rows, const float* d_mixed,
                             const AttentionRowGradients& d) {
  const Buffer<float>& out = keep_ ? nth(outputs_, layer) : last_;
  attention_backward(decoder_.causal(layer),
                     {rows.q, rows.k, rows.v, out.data(), lse_.data(), d_mixed}, d.q, d.k, d.v);
}

GatedAttention::GatedAttention(const FrozenDecoder& decoder, AttendCompute compute,
                               const Gates& gates, const Sight& sight, const FullAttention* model)
    : decoder_(decoder),
      attend_(compute),
      gates_(gates),
      sight_(sight),
      model_(model),
      gradient_(gates) {
  for (std::vector<float>& layer : gradient_) std::ranges::fill(layer, 0.0f);
}

TextAttention GatedAttention::streaming(int layer) const {
  TextAttention shape = decoder_.causal(layer);
  if (shape.window < shape.tokens) return shape;  // the model's own window is all that is seen
  shape.sink = sight_.sink;
  shape.window = sight_.recent;
  return shape;
}

const float* GatedAttention::full_rows(int layer) const {
  return model_ != nullptr ? model_->output(layer).data() : full_.data();
}

void GatedAttention::forward(int layer, const AttentionRows& rows, float* mixed) {
  const TextAttention causal = decoder_.causal(layer), shape = streaming(layer);
  if (model_ == nullptr) {
    resize(causal, full_, full_lse_);
    attend_.forward(causal, rows, full_.data(), full_lse_.data());
  }
  resize(shape, streaming_, streaming_lse_);
  attend_.forward(shape, rows, streaming_.data(), streaming_lse_.data());
  const float *full = full_rows(layer), *near = streaming_.data();
  each_head(shape, nth(gates_, layer), [&](int64_t at, float gate) {
    const float a = std::clamp(gate, 0.0f, 1.0f);
    for (int64_t i = at; i < at + shape.head_dim; ++i) mixed[i] = a * full[i] + (1 - a) * near[i];
  });
}

void GatedAttention::backward(int layer, const AttentionRows& rows, const float* d_mixed,
                              const AttentionRowGradients& d) {
  const TextAttention causal = decoder_.causal(layer), shape = streaming(layer);
  const std::vector<float>& gates = nth(gates_, layer);
  const float *full = full_rows(layer), *near = streaming_.data();
  const int group = shape.heads / shape.kv_heads;
  parallel_for(shape.kv_heads, [&](int64_t kv_head, int) {
    double sum = 0;
    for (int64_t row = 0; row < shape.tokens; ++row) {
      const int64_t at = (row * shape.heads + kv_head * group) * shape.head_dim;
      float products = 0;
      for (int64_t i = at; i < at + group * shape.head_dim; ++i) {
        products += d_mixed[i] * (full[i] - near[i]);
      }
      sum += static_cast<double>(products);
    }
    nth(nth(gradient_, layer), kv_head) += static_cast<float>(sum);
  });
  const auto pass_on = [&](const TextAttention& seen, const Buffer<float>& out,
                           const Buffer<float>& lse, bool of_full) {
    part_.resize(out.size());
    each_head(seen, gates, [&](int64_t at, float gate) {
      const float a = std::clamp(gate, 0.0f, 1.0f), share = of_full ? a : 1 - a;
      for (int64_t i = at; i < at + seen.head_dim; ++i)
        part_[static_cast<size_t>(i)] = share * d_mixed[i];
    });
    attention_backward(seen, {rows.q, rows.k, rows.v, out.data(), lse.data(), part_.data()}, d.q,
                       d.k, d.v);
  };
  pass_on(shape, streaming_, streaming_lse_, false);
  if (model_ == nullptr) pass_on(causal, full_, full_lse_, true);
}

}  // namespace longhaul
