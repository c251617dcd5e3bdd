#include "training/frozen_layer.h"

#include <algorithm>

#include "base/parallel.h"
#include "ops/rms_norm.h"
#include "ops/rms_norm_backward.h"
#include "ops/swiglu.h"
#include "ops/swiglu_backward.h"

namespace longhaul {
namespace {

size_t count_of(int64_t rows, int64_t width) { return static_cast<size_t>(rows * width); }

View<float> view_of(Buffer<float>& x) { return {x.data(), static_cast<int64_t>(x.size())}; }

/// Elements 2t and 2t + 1 of each head to places t and t + half (GGUF's llama), or back.
void reorder_pairs(float* x, int64_t rows, int heads, int head_dim, int rotary_dim, bool back) {
  const int half = rotary_dim / 2;
  parallel_ranges(rows, 32, [&](int64_t begin, int64_t end) {
    thread_local Buffer<float> copy;
    copy.resize(static_cast<size_t>(rotary_dim));
    for (int64_t i = begin * heads; i < end * heads; ++i) {
      float* head = x + i * head_dim;
      std::copy_n(head, rotary_dim, copy.data());
      for (int t = 0; t < half; ++t) {
        const float *from = copy.data() + (back ? t : 2 * t), *next = from + (back ? half : 1);
        head[back ? 2 * t : t] = *from;
        head[back ? 2 * t + 1 : t + half] = *next;
      }
    }
  });
}

}  // namespace

Rotations backward_rotations(const Rotations& rotations, Buffer<float>& sines) {
  const int64_t count = rotations.count * rotations.rotary_dim / 2;
  sines.resize(static_cast<size_t>(count));
  std::transform(rotations.sine, rotations.sine + count, sines.data(), [](float s) { return -s; });
  Rotations back = rotations;
  back.sine = sines.data();
  return back;
}

const LowRank* FrozenLayer::beside(int layer, LowRank LayerAdapters::*matrix) const {
  if (model_.adapters.empty()) return nullptr;
  const LowRank& adapter = model_.adapters[static_cast<size_t>(layer)].*matrix;
  return adapter.empty() ? nullptr : &adapter;
}

void FrozenLayer::normalise(const float* x, const std::vector<float>& weight, int64_t rows) {
  const int64_t hidden = model_.config.hidden;
  normed_.resize(count_of(rows, hidden));
  rms_norm(x, weight.data(), model_.config.norm_eps, rows, hidden, normed_.data());
  input_.assign(normed_.data(), rows, hidden);
}

void FrozenLayer::head_norm(const std::vector<float>& weight, int64_t rows, int heads,
                            Buffer<float>& raw, Buffer<float>& x) const {
  if (weight.empty()) return;
  raw.resize(x.size());
  std::copy_n(x.data(), x.size(), raw.data());
  const int head_dim = model_.config.head_dim;
  rms_norm_heads(x.data(), weight.data(), model_.config.norm_eps, rows, heads, head_dim,
                 int64_t{heads} * head_dim);
}

void FrozenLayer::project(int layer, const float* x, int64_t rows, const Rotations& rotations,
                          LayerTrace& trace) {
  const ModelConfig& c = model_.config;
  const LayerWeights& w = model_.layers[static_cast<size_t>(layer)];
  const int kv_heads = c.kv_heads[static_cast<size_t>(layer)];
  trace.q.resize(count_of(rows, int64_t{c.heads} * c.head_dim));
  trace.k.resize(count_of(rows, int64_t{kv_heads} * c.head_dim));
  trace.v.resize(trace.k.size());
  normalise(x, w.attention_norm, rows);
  const auto bias = [](const std::vector<float>& b) { return b.empty() ? nullptr : b.data(); };
  const LinearJob jobs[] = {
      {w.q, trace.q.data(), 0, bias(w.q_bias), false, beside(layer, &LayerAdapters::q)},
      {w.k, trace.k.data(), 0, bias(w.k_bias), false, beside(layer, &LayerAdapters::k)},
      {w.v, trace.v.data(), 0, bias(w.v_bias), false, beside(layer, &LayerAdapters::v)}};
  linear(input_, jobs, compute_);
  head_norm(w.q_norm, rows, c.heads, trace.raw_q, trace.q);
  head_norm(w.k_norm, rows, kv_heads, trace.raw_k, trace.k);
  const auto rotate = [&](Buffer<float>& x_heads, int heads) {
    if (c.interleaved_rope) {
      reorder_pairs(x_heads.data(), rows, heads, c.head_dim, c.rope.rotary_dim, false);
    }
    apply_rope(host_queue(), rotations, 0, view_of(x_heads), rows, heads, c.head_dim,
               view_of(x_heads));
  };
  rotate(trace.q, c.heads);
  rotate(trace.k, kv_heads);
}

void FrozenLayer::mix(int layer, const float* x, const float* mixed, int64_t rows,
                      LayerTrace& trace) {
  const ModelConfig& c = model_.config;
  const LayerWeights& w = model_.layers[static_cast<size_t>(layer)];
  trace.middle.resize(count_of(rows, c.hidden));
  std::copy_n(x, trace.middle.size(), trace.middle.data());
  input_.assign(mixed, rows, int64_t{c.heads} * c.head_dim);
  linear(input_,
         {.weight = w.output,
          .y = trace.middle.data(),
          .add = true,
          .low_rank = beside(layer, &LayerAdapters::output)},
         compute_);
  normalise(trace.middle.data(), w.ffn_norm, rows);
  trace.gate.resize(count_of(rows, c.ffn));
  trace.up.resize(trace.gate.size());
  const LinearJob jobs[] = {
      {w.gate, trace.gate.data(), 0, nullptr, false, beside(layer, &LayerAdapters::gate)},
      {w.up, trace.up.data(), 0, nullptr, false, beside(layer, &LayerAdapters::up)}};
  linear(input_, jobs, compute_);
}

void FrozenLayer::feed(int layer, int64_t rows, LayerTrace& trace, float* y) {
  const LayerWeights& w = model_.layers[static_cast<size_t>(layer)];
  const int64_t ffn = model_.config.ffn;
  inner_.resize(trace.gate.size());
  swiglu(trace.gate.data(), trace.up.data(), rows, ffn, ffn, inner_.data());
  std::copy_n(trace.middle.data(), trace.middle.size(), y);
  input_.assign(inner_.data(), rows, ffn);
  linear(input_,
         {.weight = w.down, .y = y, .add = true, .low_rank = beside(layer, &LayerAdapters::down)},
         compute_);
}

/// dx = dy W, or added to it.
void FrozenLayer::pass_back(const TensorView& weight, const LowRank* beside, const float* dy,
                            int64_t rows, bool add, float* dx) {
  const DType type = compute_ == Compute::kF32 ? DType::F32 : DType::BF16;
  const TensorView& transposed = transposed_.assign(weight, beside, type);
  input_.assign(dy, rows, weight.rows());
  linear(input_, {.weight = transposed, .y = dx, .add = add}, compute_);
}

void FrozenLayer::mix_backward(int layer, int64_t rows, LayerTrace& trace, float* d,
                               float* d_mixed) {
  const ModelConfig& c = model_.config;
  const LayerWeights& w = model_.layers[static_cast<size_t>(layer)];
  inner_.resize(trace.gate.size());
  pass_back(w.down, beside(layer, &LayerAdapters::down), d, rows, false, inner_.data());
  swiglu_backward(trace.gate.data(), trace.up.data(), inner_.data(), rows * c.ffn,
                  trace.gate.data(), trace.up.data());
  normed_.resize(count_of(rows, c.hidden));
  pass_back(w.gate, beside(layer, &LayerAdapters::gate), trace.gate.data(), rows, false,
            normed_.data());
  pass_back(w.up, beside(layer, &LayerAdapters::up), trace.up.data(), rows, true, normed_.data());
  rms_norm_backward(trace.middle.data(), w.ffn_norm.data(), c.norm_eps, normed_.data(), rows,
                    c.hidden, d, true);
  pass_back(w.output, beside(layer, &LayerAdapters::output), d, rows, false, d_mixed);
}

void FrozenLayer::project_backward(int layer, const float* x, int64_t rows,
                                   const Rotations& rotations, const LayerTrace& trace, float* dq,
                                   float* dk, float* dv, float* d) {
  const ModelConfig& c = model_.config;
  const LayerWeights& w = model_.layers[static_cast<size_t>(layer)];
  const int kv_heads = c.kv_heads[static_cast<size_t>(layer)];
  const Rotations back = backward_rotations(rotations, turned_back_);
  const auto through_head = [&](float* dx, const Buffer<float>& raw, const std::vector<float>& norm,
                                int heads) {
    const View<float> view(dx, rows * heads * c.head_dim);
    apply_rope(host_queue(), back, 0, view, rows, heads, c.head_dim, view);
    if (c.interleaved_rope) {
      reorder_pairs(dx, rows, heads, c.head_dim, c.rope.rotary_dim, true);
    }
    if (norm.empty()) return;
    rms_norm_backward(raw.data(), norm.data(), c.norm_eps, dx, rows * heads, c.head_dim, dx, false);
  };
  through_head(dq, trace.raw_q, w.q_norm, c.heads);
  through_head(dk, trace.raw_k, w.k_norm, kv_heads);
  normed_.resize(count_of(rows, c.hidden));
  pass_back(w.q, beside(layer, &LayerAdapters::q), dq, rows, false, normed_.data());
  pass_back(w.k, beside(layer, &LayerAdapters::k), dk, rows, true, normed_.data());
  pass_back(w.v, beside(layer, &LayerAdapters::v), dv, rows, true, normed_.data());
  rms_norm_backward(x, w.attention_norm.data(), c.norm_eps, normed_.data(), rows, c.hidden, d,
                    true);
}

}  // namespace longhaul
