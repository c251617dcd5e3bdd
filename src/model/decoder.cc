#include "model/decoder.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "model/decoder_state.h"
#include "model/device_decoder.h"
#include "ops/attention_memory.h"
#include "ops/dequantize.h"
#include "ops/rms_norm.h"

namespace longhaul {
namespace {

int most_kv_heads(const ModelConfig& c) {
  return *std::max_element(c.kv_heads.begin(), c.kv_heads.end());
}

/// (2t, 2t + 1) pairs to the half-split order, in place: GGUF's llama permutes Q and K rows.
void split_halves(float* x, int64_t rows, int heads, int head_dim, int rotary_dim) {
  parallel_ranges(rows, 32, [&](int64_t begin, int64_t end) {
    thread_local Buffer<float> copy;
    copy.resize(static_cast<size_t>(rotary_dim));
    for (int64_t i = begin * heads; i < end * heads; ++i) {
      float* head = x + i * head_dim;
      std::copy_n(head, rotary_dim, copy.data());
      for (int t = 0; t < rotary_dim / 2; ++t) {
        head[t] = copy[static_cast<size_t>(2 * t)];
        head[t + rotary_dim / 2] = copy[static_cast<size_t>(2 * t + 1)];
      }
    }
  });
}

}  // namespace

Decoder::Decoder(const Model& model, Compute compute)
    : state_(std::make_unique<State>(model, compute)) {}
Decoder::Decoder(std::shared_ptr<const DeviceModel> model, Compute compute)
    : state_(std::make_unique<DeviceState>(std::move(model), compute)) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;

const ModelShape& Decoder::shape() const { return state_->shape; }
const LayerStep::Workspace& Decoder::workspace() const { return state_->workspace; }
void Decoder::observe(AttentionObserver observer) {
  state_->workspace.observer = std::move(observer);
}

void Decoder::set_context_length(int64_t tokens) {
  if (!state_->model.config.rope.depends_on_length()) return;
  state_->shape.rope = make_rope(state_->model.config.rope, tokens);
}

void Decoder::State::embed(std::span<const int32_t> tokens) {
  const int64_t hidden = model.config.hidden;
  x.resize(static_cast<size_t>(rows * hidden));
  parallel_ranges(rows, 32, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int32_t token = tokens[static_cast<size_t>(r)];
      LH_ASSERT(token >= 0 && token < model.config.vocab);
      dequantize_row(model.embedding.type, model.embedding.row(token), hidden,
                     x.data() + r * hidden);
    }
  });
}

/// What adapters add to a matrix; null: nothing.
const LowRank* Decoder::State::beside(int layer, LowRank LayerAdapters::*matrix) const {
  if (model.adapters.empty()) return nullptr;
  const LowRank& adapter = model.adapters[static_cast<size_t>(layer)].*matrix;
  return adapter.empty() ? nullptr : &adapter;
}

void Decoder::State::project(int layer, int kv_heads) {
  const ModelConfig& c = model.config;
  const LayerWeights& w = model.layers[static_cast<size_t>(layer)];
  const int64_t q_width = int64_t{c.heads} * c.head_dim, kv_width = int64_t{kv_heads} * c.head_dim;
  q.resize(static_cast<size_t>(rows * q_width));
  k.resize(static_cast<size_t>(rows * kv_width));
  v.resize(static_cast<size_t>(rows * kv_width));
  normalise(w.attention_norm);
  const auto bias = [](const std::vector<float>& b) { return b.empty() ? nullptr : b.data(); };
  const LinearJob jobs[] = {
      {w.q, q.data(), 0, bias(w.q_bias), false, beside(layer, &LayerAdapters::q)},
      {w.k, k.data(), 0, bias(w.k_bias), false, beside(layer, &LayerAdapters::k)},
      {w.v, v.data(), 0, bias(w.v_bias), false, beside(layer, &LayerAdapters::v)}};
  linear(input, jobs, compute);
  if (!w.q_norm.empty()) {
    rms_norm_heads(q.data(), w.q_norm.data(), c.norm_eps, rows, c.heads, c.head_dim, q_width);
    rms_norm_heads(k.data(), w.k_norm.data(), c.norm_eps, rows, kv_heads, c.head_dim, kv_width);
  }
  if (c.interleaved_rope) {
    split_halves(q.data(), rows, c.heads, c.head_dim, c.rope.rotary_dim);
    split_halves(k.data(), rows, kv_heads, c.head_dim, c.rope.rotary_dim);
  }
}

Projected Decoder::State::projected(int layer, int kv_heads) {
  project(layer, kv_heads);
  mixed.resize(static_cast<size_t>(rows * model.config.heads * model.config.head_dim));
  const auto view = [](const Buffer<float>& numbers) {
    return View<const float>(numbers.data(), static_cast<int64_t>(numbers.size()));
  };
  return {view(q), view(k), view(v), {mixed.data(), static_cast<int64_t>(mixed.size())}};
}

void Decoder::State::attention(int layer, const ForwardPass& pass, AttentionDriver& method) {
  const int kv_heads = model.config.kv_heads[static_cast<size_t>(layer)];
  const Projected rows_of = projected(layer, kv_heads);
  LayerStep step;
  step.queue = &queue;
  step.layer = layer;
  step.kv_heads = kv_heads;
  step.begin = pass.position;
  step.rows = static_cast<int>(rows);
  step.q = rows_of.q;
  step.k = rows_of.k;
  step.v = rows_of.v;
  step.out = rows_of.out;
  step.tokens = pass.tokens;
  step.shape = &shape;
  step.pass = pass.pass;
  step.store = pass.store;
  step.streams = pass.streams;
  step.compute = compute == Compute::kF32 ? AttendCompute::kF32 : AttendCompute::kBest;
  step.workspace = &workspace;
  method.attend(step);
  add_attention(layer);
}

void Decoder::State::add_attention(int layer) {
  const ModelConfig& c = model.config;
  const LayerWeights& w = model.layers[static_cast<size_t>(layer)];
  input.assign(mixed.data(), rows, int64_t{c.heads} * c.head_dim);
  linear(input,
         {.weight = w.output,
          .y = x.data(),
          .add = true,
          .low_rank = beside(layer, &LayerAdapters::output)},
         compute);
}

void Decoder::State::feed_forward(int layer) {
  const LayerWeights& w = model.layers[static_cast<size_t>(layer)];
  normalise(w.ffn_norm);
  linear_swiglu(
      input, {w.gate, w.up, beside(layer, &LayerAdapters::gate), beside(layer, &LayerAdapters::up)},
      inner, compute);
  linear(inner,
         {.weight = w.down,
          .y = x.data(),
          .add = true,
          .low_rank = beside(layer, &LayerAdapters::down)},
         compute);
}

/// The residual stream, normalised, as the next sublayer's input.
void Decoder::State::normalise(const std::vector<float>& weight) {
  const int64_t hidden = model.config.hidden;
  input.fill(rows, hidden, compute, [&](int64_t begin, int64_t count, float* out) {
    rms_norm(x.data() + begin * hidden, weight.data(), model.config.norm_eps, count, hidden, out);
  });
}

const float* Decoder::forward(const ForwardPass& pass, AttentionDriver& method) {
  State& s = *state_;
  s.rows = static_cast<int64_t>(pass.tokens.size());
  s.embed(pass.tokens);
  for (int layer = 0; layer < s.model.config.layers; ++layer) {
    if (layer > 0 && pass.go_on && !pass.go_on(layer)) return nullptr;
    s.attention(layer, pass, method);
    s.feed_forward(layer);
  }
  return s.hidden();
}

void Decoder::logits(const float* hidden, int64_t rows, float* out) {
  state_->logits(hidden, rows, out);
}

void Decoder::State::logits(const float* hidden, int64_t count, float* out) {
  const ModelConfig& c = model.config;
  input.fill(count, c.hidden, compute, [&](int64_t begin, int64_t some, float* normed) {
    rms_norm(hidden + begin * c.hidden, model.final_norm.data(), c.norm_eps, some, c.hidden,
             normed);
  });
  const LowRank& adapter = model.head_adapter;
  linear(input, {.weight = model.head, .y = out, .low_rank = adapter.empty() ? nullptr : &adapter},
         compute);
}

namespace {

/// Bytes of a row of x A^T of the adapters of one input, as it is made and as it is multiplied.
size_t adapter_row_bytes(const Model& model) {
  int64_t most = 0;
  for (const LayerAdapters& a : model.adapters) {
    most = std::max({most, a.q.rank() + a.k.rank() + a.v.rank(), a.output.rank(),
                     a.gate.rank() + a.up.rank(), a.down.rank()});
  }
  return static_cast<size_t>(most) * 2 * sizeof(float);
}

}  // namespace

size_t Decoder::working_bytes(const Model& model, int64_t rows, Compute compute) {
  const ModelConfig& c = model.config;
  const auto n = [](int64_t count) { return static_cast<size_t>(count); };
  const int64_t q_width = int64_t{c.heads} * c.head_dim;
  const int64_t kv_width = int64_t{most_kv_heads(c)} * c.head_dim;
  const bool tiles = rows > kMatvecMaxRows && panel_kernels(compute) != nullptr;
  const size_t stream = n(c.hidden) * sizeof(float);
  // Queries and keys have a rotated copy each; then the angles, and the sums of the softmax.
  const size_t projections =
      n(3 * q_width + 3 * kv_width + model.shape.rope.rotary_dim() + c.heads) * sizeof(float);
  const auto row = [&](int64_t cols) {
    return tiles ? linear_input_bytes(cols, compute) : n(cols) * sizeof(float);
  };
  const size_t input = row(std::max<int64_t>(c.hidden, q_width));
  const size_t inner = row(c.ffn) * (tiles ? 1 : 2);
  return n(rows) * (stream + projections + input + inner + adapter_row_bytes(model)) +
         n(c.vocab) * sizeof(float) + attention_scratch_bytes(c.head_dim) +
         (rows > kMatvecMaxRows ? linear_scratch_bytes(rows, std::max(c.ffn, c.hidden), compute)
                                : 0);
}

}  // namespace longhaul
