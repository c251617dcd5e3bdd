#include "training/frozen_decoder.h"

#include <algorithm>

#include "base/error.h"
#include "base/nth.h"
#include "base/parallel.h"
#include "ops/dequantize.h"
#include "ops/rms_norm.h"
#include "ops/rms_norm_backward.h"

namespace longhaul {

FrozenDecoder::FrozenDecoder(const Model& model, Compute compute)
    : model_(model), layer_(model, compute) {
  if (const std::string more = model.config.beyond_plain(); !more.empty()) {
    user_error("gradients of this model are not computed yet: it has {}", more);
  }
}

void FrozenDecoder::embed(std::span<const int32_t> tokens, float* x) const {
  const int64_t hidden = model_.config.hidden;
  parallel_ranges(tokens_, 32, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int32_t token = nth(tokens, r);
      LH_ASSERT(token >= 0 && token < model_.config.vocab);
      dequantize_row(model_.embedding.type, model_.embedding.row(token), hidden, x + r * hidden);
    }
  });
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

const float* FrozenDecoder::forward(std::span<const int32_t> tokens, AttentionRule& attention,
                                    bool keep) {
  tokens_ = static_cast<int64_t>(tokens.size());
  const int layers = model_.config.layers;
  const auto stream = static_cast<size_t>(tokens_ * model_.config.hidden);
  rotations_.fill(host_queue(), make_rope(model_.config.rope, tokens_), 0, tokens_);
  inputs_.resize(keep ? static_cast<size_t>(layers) + 1 : 1);
  for (Buffer<float>& x : inputs_) x.resize(stream);
  mixed_.resize(static_cast<size_t>(tokens_ * model_.config.heads * model_.config.head_dim));
  embed(tokens, inputs_.front().data());
  for (int layer = 0; layer < layers; ++layer) {
    const float* x = nth(inputs_, keep ? layer : 0).data();
    layer_.project(layer, x, tokens_, rotations_.view(), trace_);
    attention.forward(layer, trace_.attention(), mixed_.data());
    layer_.mix(layer, x, mixed_.data(), tokens_, trace_);
    layer_.feed(layer, tokens_, trace_, nth(inputs_, keep ? layer + 1 : 0).data());
  }
  return inputs_.back().data();
}

void FrozenDecoder::backward(AttentionRule& attention, float* d) {
  LH_ASSERT(inputs_.size() == static_cast<size_t>(model_.config.layers) + 1);
  for (int layer = model_.config.layers - 1; layer >= 0; --layer) {
    const float* x = nth(inputs_, layer).data();
    layer_.project(layer, x, tokens_, rotations_.view(), trace_);
    attention.forward(layer, trace_.attention(), mixed_.data());
    layer_.mix(layer, x, mixed_.data(), tokens_, trace_);
    layer_.mix_backward(layer, tokens_, trace_, d, mixed_.data());
    dq_.resize(trace_.q.size());
    dk_.resize(trace_.k.size());
    dv_.resize(trace_.v.size());
    for (Buffer<float>* gradient : {&dq_, &dk_, &dv_}) {
      std::fill_n(gradient->data(), gradient->size(), 0.0f);
    }
    attention.backward(layer, trace_.attention(), mixed_.data(),
                       {dq_.data(), dk_.data(), dv_.data()});
    layer_.project_backward(layer, x, tokens_, rotations_.view(), trace_, dq_.data(), dk_.data(),
                            dv_.data(), d);
  }
}

void FrozenDecoder::final_norm(const float* hidden, int64_t rows, float* normed) const {
  const ModelConfig& c = model_.config;
  rms_norm(hidden, model_.final_norm.data(), c.norm_eps, rows, c.hidden, normed);
}

void FrozenDecoder::final_norm_backward(const float* hidden, const float* d_normed, int64_t rows,
                                        float* d_hidden) const {
  const ModelConfig& c = model_.config;
  rms_norm_backward(hidden, model_.final_norm.data(), c.norm_eps, d_normed, rows, c.hidden,
                    d_hidden, false);
}

}  // namespace longhaul
