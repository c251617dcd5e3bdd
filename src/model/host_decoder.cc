#include "model/host_decoder.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/attention/query_growth.h"
#include "ops/core/add.h"
#include "ops/core/layer_norm.h"
#include "ops/core/rms_norm.h"
#include "ops/core/soft_cap.h"
#include "ops/delta/delta_rule.h"
#include "ops/matmul/dequantize.h"

namespace longhaul {
namespace {

void split_pairs_of(float* x, int64_t rows, int heads, int head_dim, int rotary_dim) {
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

/// Separates queries and gates. In rows of `both`, the query of each head is followed by the gates
/// of the head.
void split_gates(const float* both, int64_t heads, int head_dim, float* queries, float* gates) {
  parallel_ranges(heads, 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::copy_n(both + 2 * i * head_dim, head_dim, queries + i * head_dim);
      std::copy_n(both + (2 * i + 1) * head_dim, head_dim, gates + i * head_dim);
    }
  });
}

const float* or_null(const std::vector<float>& bias) {
  return bias.empty() ? nullptr : bias.data();
}

float* numbers(Array<float>& array) { return array.view().address(); }

}  // namespace

void Decoder::HostState::embed(std::span<const int32_t> tokens) {
  input.set_row_kind(in_batch ? RowKind::kDecode : RowKind::kPrefill);
  const int64_t hidden = model().config.hidden;
  float* const x = stream.resize(queue, rows * hidden).address();
  parallel_ranges(rows, 32, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const int32_t token = nth(tokens, r);
      LH_ASSERT(token >= 0 && token < model().config.vocab);
      float* row = x + r * hidden;
      dequantize_row(model().embedding.type, model().embedding.row(token), hidden, row);
      if (model().config.embedding_scale == 1) continue;
      for (int64_t i = 0; i < hidden; ++i) row[i] *= model().config.embedding_scale;
    }
  });
  if (model().config.layer_input > 0) inputs.begin(model(), tokens, x, input.row_kind(), compute);
}

/// Returns the adapter of a matrix, or null if there is none.
const LowRank* Decoder::HostState::beside(int layer, LowRank LayerAdapters::*matrix) const {
  if (model().adapters.empty()) return nullptr;
  const LowRank& adapter = nth(model().adapters, layer).*matrix;
  return adapter.empty() ? nullptr : &adapter;
}

void Decoder::HostState::normalise(int layer, RowNorm norm) {
  const int64_t hidden = model().config.hidden;
  const std::vector<float>& weight = norm_of(nth(model().layers, layer), norm);
  const float* const x = numbers(stream);
  if (weight.empty()) return input.assign(x, rows, hidden);
  const bool gathers = model().config.experts > 0 && norm == RowNorm::kFfn;
  const bool again =
      model().config.parallel || (norm == RowNorm::kAttention && model().config.has_both(layer));
  if (gathers || again) {  // rows are needed in f32
    normed.resize(static_cast<size_t>(rows * hidden));
    normalise_rows(x, weight, rows, normed.data());
    return input.assign(normed.data(), rows, hidden);
  }
  input.fill(rows, hidden, compute, [&](int64_t begin, int64_t count, float* out) {
    normalise_rows(x + begin * hidden, weight, count, out);
  });
}

void Decoder::HostState::normalise_rows(const float* x, const std::vector<float>& weight,
                                        int64_t count, float* out) const {
  const ModelConfig& c = model().config;
  if (!c.mean_norms) return rms_norm(x, weight.data(), c.norm_eps, count, c.hidden, out);
  parallel_ranges(count, 16, [&](int64_t begin, int64_t end) {
    layer_norm(x + begin * c.hidden, weight.data(), c.norm_eps, end - begin, c.hidden,
               out + begin * c.hidden);
  });
}

void Decoder::HostState::normalise_again() {
  input.assign(normed.data(), rows, model().config.hidden);
}

void Decoder::HostState::project(int layer, int kv_heads) {
  const ModelConfig& c = model().config;
  const LayerWeights& w = nth(model().layers, layer);
  const int head_dim = c.dim_of(layer);
  const int64_t q_width = int64_t{c.heads} * head_dim, kv_width = int64_t{kv_heads} * head_dim;
  float* const queries = q.resize(queue, rows * q_width).address();
  float* const keys = k.resize(queue, rows * kv_width).address();
  float* const values = v.resize(queue, rows * kv_width).address();
  if (c.latent.used()) {
    latent.project(input, w, c, rows, compute, queries, keys);
    std::copy_n(keys, rows * kv_width, values);
    return;
  }
  if (c.output_gate) queries_and_gates.resize(static_cast<size_t>(2 * rows * q_width));
  float* const projected = c.output_gate ? queries_and_gates.data() : queries;
  const LinearJob jobs[] = {
      {w.q, projected, 0, or_null(w.q_bias), false, beside(layer, &LayerAdapters::q)},
      {w.k, keys, 0, or_null(w.k_bias), false, beside(layer, &LayerAdapters::k)},
      {w.v, values, 0, or_null(w.v_bias), false, beside(layer, &LayerAdapters::v)}};
  // A layer that uses the keys and values of another layer computes only queries. If keys are also
  // values, it computes no separate values.
  const size_t products = w.k.data == nullptr ? 1 : w.v.data == nullptr ? 2 : 3;
  linear(input, std::span(jobs).first(products), compute);
  if (products == 2) std::copy_n(keys, rows * kv_width, values);
  if (!c.output_gate) return;
  gates.resize(static_cast<size_t>(rows * q_width));
  split_gates(projected, rows * c.heads, head_dim, queries, gates.data());
}

void Decoder::HostState::gate_output() {
  multiply_by_sigmoid(numbers(mixed), gates.data(), mixed.size());
}

void Decoder::HostState::project_recurrent(int layer) {
  if (model().config.delta.empty()) {
    const LowRank* const adapter = beside(layer, &LayerAdapters::recurrent_in);
    return recurrent_layer.project(input, nth(model().layers, layer), adapter, compute);
  }
  const LayerAdapters* const adapters =
      model().adapters.empty() ? nullptr : &nth(model().adapters, layer);
  delta.project(input, nth(model().layers, layer), adapters, model().config.delta, compute);
}

void Decoder::HostState::mix_recurrent(int layer, std::span<const RecurrentTask> tasks) {
  const LayerWeights& w = nth(model().layers, layer);
  if (model().config.delta.empty())
    return recurrent_layer.mix(w, model().config, tasks, mixed.view());
  delta.mix(w, model().config, rows, tasks, mixed.view());
}

void Decoder::HostState::normalise_heads(int layer, int kv_heads) {
  const ModelConfig& c = model().config;
  const LayerWeights& w = nth(model().layers, layer);
  const int head_dim = c.dim_of(layer);
  if (w.q_norm.empty()) return;
  const auto norm = [&](float* y, const std::vector<float>& weight, int64_t heads) {
    const int64_t width = heads * head_dim;
    if (c.qk_norm == QkNorm::kWhole) {
      rms_norm(y, weight.data(), c.norm_eps, rows, width, y);
    } else {
      rms_norm_heads(y, weight.data(), c.norm_eps, rows, heads, head_dim, width);
    }
  };
  norm(numbers(q), w.q_norm, c.heads);
  if (c.shares_kv(layer)) return;
  norm(numbers(k), w.k_norm, kv_heads);
  if (!c.value_norm) return;
  ones.assign(static_cast<size_t>(head_dim), 1);
  norm(numbers(v), ones, kv_heads);
}

void Decoder::HostState::split_pairs(int kv_heads) {
  const ModelConfig& c = model().config;
  split_pairs_of(numbers(q), rows, c.heads, c.head_dim, c.rope.rotary_dim);
  split_pairs_of(numbers(k), rows, kv_heads, c.head_dim, c.rope.rotary_dim);
}

void Decoder::HostState::grow_queries(View<float> queries, int64_t count, int64_t position,
                                      const QueryGrowth& growth) {
  const ModelConfig& c = model().config;
  longhaul::grow_queries(queries.address(), count, int64_t{c.heads} * c.head_dim, position, growth);
}

void Decoder::HostState::project_back(int layer, bool recurrent, const PartOutput& y) {
  const LayerWeights& w = nth(model().layers, layer);
  if (recurrent && model().config.delta.empty()) {
    const LowRank* const adapter = beside(layer, &LayerAdapters::recurrent_output);
    input.assign(numbers(mixed), rows, w.recurrent_output.cols());
    return linear(
        input,
        LinearJob{
            .weight = w.recurrent_output, .y = y.y.address(), .add = y.add, .low_rank = adapter},
        compute);
  }
  const float* attended = numbers(mixed);
  if (model().config.latent.used()) {
    attended = latent.values(w, model().config, rows, input.row_kind(), compute, attended);
  }
  input.assign(attended, rows, w.output.cols());
  linear(input,
         LinearJob{.weight = w.output,
                   .y = y.y.address(),
                   .bias = or_null(w.output_bias),
                   .add = y.add,
                   .low_rank = beside(layer, &LayerAdapters::output)},
         compute);
}

void Decoder::HostState::feed(int layer, const PartOutput& y) {
  const LayerWeights& w = nth(model().layers, layer);
  if (model().config.ungated != Ungated::kNone) return feed_ungated(layer, y);
  linear_swiglu(input,
                {.gate = w.gate,
                 .up = w.up,
                 .gate_low_rank = beside(layer, &LayerAdapters::gate),
                 .up_low_rank = beside(layer, &LayerAdapters::up),
                 .gating = model().config.gating},
                inner, compute);
  if (w.shared_gate.data != nullptr) return feed_gated(w, y, beside(layer, &LayerAdapters::down));
  feed_down(layer, y);
}

void Decoder::HostState::feed_ungated(int layer, const PartOutput& y) {
  const LayerWeights& w = nth(model().layers, layer);
  const int64_t ffn = w.up.rows();
  product.resize(static_cast<size_t>(rows * ffn));
  linear(
      input,
      LinearJob{.weight = w.up, .y = product.data(), .low_rank = beside(layer, &LayerAdapters::up)},
      compute);
  activate(model().config.ungated, w.xielu, product.data(), rows * ffn);
  inner.set_row_kind(input.row_kind());
  inner.assign(product.data(), rows, ffn);
  feed_down(layer, y);
}

void Decoder::HostState::feed_down(int layer, const PartOutput& y) {
  linear(inner,
         LinearJob{.weight = nth(model().layers, layer).down,
                   .y = y.y.address(),
                   .add = y.add,
                   .low_rank = beside(layer, &LayerAdapters::down)},
         compute);
}

/// Computes the shared expert and multiplies each row of its output by a gate.
void Decoder::HostState::feed_gated(const LayerWeights& w, const PartOutput& y,
                                    const LowRank* adapter) {
  const int64_t hidden = model().config.hidden;
  LH_ASSERT(y.add);
  shared.resize(static_cast<size_t>(rows * hidden));
  share.resize(static_cast<size_t>(rows));
  linear(inner, LinearJob{.weight = w.down, .y = shared.data(), .low_rank = adapter}, compute);
  linear(input, LinearJob{.weight = w.shared_gate, .y = share.data()}, compute);
  add_gated(y.y.address(), shared.data(), share.data(), rows, hidden);
}

void Decoder::HostState::choose_experts_of_rows(int layer) {
  const ModelConfig& c = model().config;
  const LayerWeights& w = nth(model().layers, layer);
  routes.resize(static_cast<size_t>(rows * c.experts));
  chosen.resize(static_cast<size_t>(rows * c.experts_used));
  linear(input, LinearJob{.weight = w.router, .y = routes.data(), .bias = or_null(w.router_bias)},
         compute);
  choose_experts(routes.data(), rows, c.experts, c.experts_used,
                 c.expert_rule(or_null(w.choice_bias), or_null(w.expert_scales)), chosen.data());
}

void Decoder::HostState::mix_experts(int layer, const PartOutput& y) {
  const ModelConfig& c = model().config;
  const LayerWeights& w = nth(model().layers, layer);
  choose_experts_of_rows(layer);
  const float* x = normed.data();
  if (c.weighs_inputs) x = weigh_inputs();
  mix.run(x, rows, w.experts, chosen, {c.gating, c.ungated}, compute, y.y.address(), y.add,
          input.row_kind());
}

/// Multiplies each input row by the weight of its only expert, and sets this weight to 1.
const float* Decoder::HostState::weigh_inputs() {
  const int64_t hidden = model().config.hidden;
  shared.resize(static_cast<size_t>(rows * hidden));
  for (int64_t r = 0; r < rows; ++r) {
    const float weight = std::exchange(chosen[static_cast<size_t>(r)].weight, 1.0f);
    for (int64_t i = r * hidden; i < (r + 1) * hidden; ++i) {
      shared[static_cast<size_t>(i)] = weight * normed[static_cast<size_t>(i)];
    }
  }
  return shared.data();
}

void Decoder::HostState::feed_apart(int layer, const PartOutput& y) {
  const ModelConfig& c = model().config;
  const LayerWeights& w = nth(model().layers, layer);
  const int64_t all = rows * c.hidden;
  float *const out = y.y.address(), *const x = numbers(stream);
  LH_ASSERT(!y.add);
  feed(layer, y);
  rms_norm(out, w.network_after_norm.data(), c.norm_eps, rows, c.hidden, out);
  rms_norm(x, w.router_norm.data(), c.norm_eps, rows, c.hidden, normed.data());
  input.assign(normed.data(), rows, c.hidden);
  choose_experts_of_rows(layer);
  rms_norm(x, w.experts_norm.data(), c.norm_eps, rows, c.hidden, normed.data());
  shared.resize(static_cast<size_t>(all));
  mix.run(normed.data(), rows, w.experts, chosen, {c.gating, c.ungated}, compute, shared.data(),
          false, input.row_kind());
  rms_norm(shared.data(), w.experts_after_norm.data(), c.norm_eps, rows, c.hidden, shared.data());
  add_scaled(out, shared.data(), all, 1);
}

void Decoder::HostState::end_layer(int layer) {
  float* const x = numbers(stream);
  if (model().config.layer_input > 0)
    inputs.add(model(), layer, rows, input.row_kind(), compute, x);
  const float scale = nth(model().layers, layer).scale;
  if (scale != 1) scale_and_cap(x, rows * model().config.hidden, scale, 0);
}

void Decoder::HostState::add_sublayer(int layer, RowNorm norm, float scale) {
  const ModelConfig& c = model().config;
  const std::vector<float>& weight = norm_of(nth(model().layers, layer), norm);
  float* const y = numbers(sublayer);
  if (!weight.empty()) rms_norm(y, weight.data(), c.norm_eps, rows, c.hidden, y);
  add_scaled(numbers(stream), y, rows * c.hidden, scale);
}

View<float> Decoder::HostState::head(const float* hidden, int64_t count, float* out) {
  const ModelConfig& c = model().config;
  if (out == nullptr) out = result.resize(queue, count * c.vocab).address();
  input.fill(count, c.hidden, compute, [&](int64_t begin, int64_t some, float* to) {
    normalise_rows(hidden + begin * c.hidden, model().final_norm, some, to);
  });
  const LowRank& adapter = model().head_adapter;
  linear(input,
         {.weight = model().head, .y = out, .low_rank = adapter.empty() ? nullptr : &adapter},
         compute);
  if (c.logit_scale != 1 || c.logit_cap > 0) {
    scale_and_cap(out, count * c.vocab, c.logit_scale, c.logit_cap);
  }
  return {out, count * c.vocab};
}

}  // namespace longhaul
