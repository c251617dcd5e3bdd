#include "model/decoder.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "model/decoder_state.h"
#include "model/device_decoder.h"
#include "ops/add.h"
#include "ops/attention_memory.h"
#include "ops/dequantize.h"
#include "ops/experts.h"
#include "ops/rms_norm.h"
#include "ops/soft_cap.h"

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
      float* row = x.data() + r * hidden;
      dequantize_row(model.embedding.type, model.embedding.row(token), hidden, row);
      if (model.config.embedding_scale == 1) continue;
      for (int64_t i = 0; i < hidden; ++i) row[i] *= model.config.embedding_scale;
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
  norm_heads(w, kv_heads);
  if (c.interleaved_rope) {
    split_halves(q.data(), rows, c.heads, c.head_dim, c.rope.rotary_dim);
    split_halves(k.data(), rows, kv_heads, c.head_dim, c.rope.rotary_dim);
  }
}

/// Queries that grow with their position (Ministral 3).
void Decoder::State::scale_queries() {
  const ModelConfig& c = model.config;
  const int64_t width = int64_t{c.heads} * c.head_dim;
  for (int64_t r = 0; r < rows; ++r) {
    const auto lengths = static_cast<double>((position + r) / c.rope.original_context);
    const auto scale = static_cast<float>(1 + c.temperature_scale * std::log1p(lengths));
    if (scale == 1) continue;
    for (int64_t i = r * width; i < (r + 1) * width; ++i) q[static_cast<size_t>(i)] *= scale;
  }
}

/// Of queries and keys, where there are such norms.
void Decoder::State::norm_heads(const LayerWeights& w, int kv_heads) {
  const ModelConfig& c = model.config;
  const auto norm = [&](Buffer<float>& y, const std::vector<float>& weight, int64_t heads) {
    const int64_t width = heads * c.head_dim;
    if (c.qk_norm == QkNorm::kWhole) {
      rms_norm(y.data(), weight.data(), c.norm_eps, rows, width, y.data());
    } else if (c.qk_norm == QkNorm::kHead) {
      rms_norm_heads(y.data(), weight.data(), c.norm_eps, rows, heads, c.head_dim, width);
    }
  };
  norm(q, w.q_norm, c.heads);
  norm(k, w.k_norm, kv_heads);
}

Projected Decoder::State::projected(int layer, int kv_heads) {
  project(layer, kv_heads);
  if (model.config.temperature_scale != 0) scale_queries();
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
  add_to_stream(input,
                {.weight = w.output,
                 .bias = w.output_bias.empty() ? nullptr : w.output_bias.data(),
                 .low_rank = beside(layer, &LayerAdapters::output)},
                w.attention_after_norm);
}

void Decoder::State::feed_forward(int layer) {
  const LayerWeights& w = model.layers[static_cast<size_t>(layer)];
  if (!w.experts.empty()) return experts(w);
  normalise(w.ffn_norm);
  linear_swiglu(input,
                {.gate = w.gate,
                 .up = w.up,
                 .gate_low_rank = beside(layer, &LayerAdapters::gate),
                 .up_low_rank = beside(layer, &LayerAdapters::up),
                 .gating = model.config.gating},
                inner, compute);
  add_to_stream(inner, {.weight = w.down, .low_rank = beside(layer, &LayerAdapters::down)},
                w.ffn_after_norm);
}

/// The feed-forward part of a model with experts: each row through those that the router chooses.
void Decoder::State::experts(const LayerWeights& w) {
  const ModelConfig& c = model.config;
  normed.resize(static_cast<size_t>(rows * c.hidden));
  routes.resize(static_cast<size_t>(rows * c.experts));
  sublayer.resize(static_cast<size_t>(rows * c.hidden));
  chosen.resize(static_cast<size_t>(rows * c.experts_used));
  rms_norm(x.data(), w.ffn_norm.data(), c.norm_eps, rows, c.hidden, normed.data());
  input.assign(normed.data(), rows, c.hidden);
  linear(input,
         LinearJob{.weight = w.router,
                   .y = routes.data(),
                   .bias = w.router_bias.empty() ? nullptr : w.router_bias.data()},
         compute);
  choose_experts(routes.data(), rows, c.experts, c.experts_used, c.experts_add_up, chosen.data());
  mix.run(normed.data(), rows, w.experts, chosen, c.gating, compute, sublayer.data());
  add_sublayer(w.ffn_after_norm);
}

/// What a sublayer's last matrix writes joins the residual stream.
void Decoder::State::add_to_stream(LinearInput& part, LinearJob job,
                                   const std::vector<float>& after_norm) {
  if (after_norm.empty() && model.config.residual_scale == 1) {
    job.y = x.data();
    job.add = true;
    return linear(part, job, compute);
  }
  sublayer.resize(static_cast<size_t>(rows * model.config.hidden));
  job.y = sublayer.data();
  linear(part, job, compute);
  add_sublayer(after_norm);
}

void Decoder::State::add_sublayer(const std::vector<float>& after_norm) {
  const ModelConfig& c = model.config;
  float* y = sublayer.data();
  if (!after_norm.empty()) rms_norm(y, after_norm.data(), c.norm_eps, rows, c.hidden, y);
  add_scaled(x.data(), y, rows * c.hidden, c.residual_scale);
}

/// The residual stream, normalised where there is a norm, as the next sublayer's input.
void Decoder::State::normalise(const std::vector<float>& weight) {
  const int64_t hidden = model.config.hidden;
  if (weight.empty()) return input.assign(x.data(), rows, hidden);
  input.fill(rows, hidden, compute, [&](int64_t begin, int64_t count, float* out) {
    rms_norm(x.data() + begin * hidden, weight.data(), model.config.norm_eps, count, hidden, out);
  });
}

const float* Decoder::forward(const ForwardPass& pass, AttentionDriver& method) {
  State& s = *state_;
  s.rows = static_cast<int64_t>(pass.tokens.size());
  s.position = pass.position;
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
  input.fill(count, c.hidden, compute, [&](int64_t begin, int64_t some, float* to) {
    rms_norm(hidden + begin * c.hidden, model.final_norm.data(), c.norm_eps, some, c.hidden, to);
  });
  const LowRank& adapter = model.head_adapter;
  linear(input, {.weight = model.head, .y = out, .low_rank = adapter.empty() ? nullptr : &adapter},
         compute);
  if (c.logit_scale != 1 || c.logit_cap > 0) {
    scale_and_cap(out, count * c.vocab, c.logit_scale, c.logit_cap);
  }
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
  const bool apart = c.norms.ffn_after != nullptr || c.residual_scale != 1;  // State::sublayer
  const size_t mixed = c.experts == 0
                           ? 0
                           : n(2 * c.hidden + c.experts) * n(rows) * sizeof(float) +
                                 ExpertMix::bytes_for(rows, c.experts_used, c.hidden, c.ffn);
  return n(rows) *
             (stream * (apart ? 2 : 1) + projections + input + inner + adapter_row_bytes(model)) +
         mixed + n(c.vocab) * sizeof(float) + attention_scratch_bytes(c.head_dim) +
         (rows > kMatvecMaxRows ? linear_scratch_bytes(rows, std::max(c.ffn, c.hidden), compute)
                                : 0);
}

}  // namespace longhaul
