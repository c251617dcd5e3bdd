#include "model/device_decoder.h"

#include <algorithm>

#include "base/error.h"
#include "ops/choose/tile_lists.h"
#include "ops/core/device_room.h"
#include "ops/core/fill.h"
#include "ops/core/layer_norm.h"
#include "ops/matmul/weigh_rows.h"
#include "ops/ssm/ssm_mix.h"

namespace longhaul {

Decoder::DeviceState::DeviceState(std::shared_ptr<const DeviceModel> of, Compute c)
    : State(of->model(), c, of->queue()), weights(std::move(of)) {
  input = ops().input(c);
  inner = ops().input(c);
  low_input = ops().input();
}

void Decoder::DeviceState::embed(std::span<const int32_t> tokens) {
  const ModelConfig& c = model().config;
  for (DeviceInput* each : {input.get(), inner.get(), low_input.get()}) {
    each->set_row_kind(in_batch ? RowKind::kDecode : RowKind::kPrefill);
  }
  for (const int32_t token : tokens) LH_ASSERT(token >= 0 && token < c.vocab);
  ops().embed(weights->embedding(), tokens, c.embedding_scale,
              stream.resize(queue, rows * c.hidden));
  if (c.layer_input > 0) begin_layer_inputs(tokens);
}

/// Whether another sublayer, or the experts, read the normalised rows too.
bool Decoder::DeviceState::keeps_normed(int layer, RowNorm norm) const {
  const ModelConfig& c = model().config;
  if (norm == RowNorm::kAttention) return c.parallel || c.has_both(layer);
  return c.parallel || (norm == RowNorm::kFfn && c.weighs_inputs && c.has_experts(layer));
}

void Decoder::DeviceState::normalise(int layer, RowNorm norm) {
  const ModelConfig& c = model().config;
  const View<const float> weight = weights->layer(layer).norm(norm).view();
  if (weight.empty()) return ops().take(stream.view(), rows, c.hidden, *input);
  if (!c.mean_norms && !keeps_normed(layer, norm)) {
    return ops().rms_norm(stream.view(), weight, c.norm_eps, rows, c.hidden, *input);
  }
  const View<float> y = normed.resize(queue, rows * c.hidden);
  const View<float> x = stream.view().part(0, y.size());
  if (c.mean_norms) {
    layer_norm(queue, x, weight, c.norm_eps, rows, c.hidden, y);
  } else {
    copy(queue, x, y);
    ops().rms_norm_heads(y, weight, c.norm_eps, rows, 1, static_cast<int>(c.hidden));
  }
  normalise_again();
}

void Decoder::DeviceState::normalise_again() {
  ops().take(normed.view(), rows, model().config.hidden, *input);
}

void Decoder::DeviceState::multiply(const DeviceInput& taken, int64_t count,
                                    std::initializer_list<Job> jobs) {
  std::vector<DeviceLinear> products;
  for (const Job& job : jobs) {
    products.push_back(
        {job.weight.matrix.get(), job.y, job.weight.bias.view(), job.add, job.exact});
  }
  ops().linear(taken, products);
  for (const Job& job : jobs) {
    const DeviceAdapter& adapter = job.weight.adapter;
    if (adapter.a == nullptr) continue;
    const int64_t rank = adapter.a->rows();
    const DeviceLinear down{adapter.a.get(), low.resize(queue, count * rank), {}, false, true};
    ops().linear(taken, {&down, 1});
    ops().take(low.view(), count, rank, *low_input);
    const DeviceLinear back{adapter.b.get(), job.y, {}, true};
    ops().linear(*low_input, {&back, 1});
  }
}

void Decoder::DeviceState::project(int layer, int kv_heads) {
  const ModelConfig& c = model().config;
  if (c.output_gate) return project_gated(layer, kv_heads);
  const DeviceLayer& w = weights->layer(layer);
  const int64_t q_width = int64_t{c.heads} * c.dim_of(layer);
  const int64_t kv_width = int64_t{kv_heads} * c.dim_of(layer);
  const View<float> to_q = q.resize(queue, rows * q_width);
  const View<float> to_k = k.resize(queue, rows * kv_width);
  const View<float> to_v = v.resize(queue, rows * kv_width);
  if (c.latent.used()) return project_latent(layer);
  if (w.k.matrix == nullptr) return multiply(*input, rows, {{w.q, to_q}});
  if (w.v.matrix != nullptr) return multiply(*input, rows, {{w.q, to_q}, {w.k, to_k}, {w.v, to_v}});
  multiply(*input, rows, {{w.q, to_q}, {w.k, to_k}});
  copy(queue, to_k, to_v);
}

void Decoder::DeviceState::normalise_heads(int layer, int kv_heads) {
  const ModelConfig& c = model().config;
  const DeviceLayer& w = weights->layer(layer);
  const int head_dim = c.dim_of(layer);
  if (w.q_norm.size() == 0) return;
  const auto norm = [&](Array<float>& y, View<const float> weight, int heads) {
    const bool whole = c.qk_norm == QkNorm::kWhole;
    ops().rms_norm_heads(y.view(), weight, c.norm_eps, rows, whole ? 1 : heads,
                         whole ? heads * head_dim : head_dim);
  };
  norm(q, w.q_norm.view(), c.heads);
  if (c.shares_kv(layer)) return;
  norm(k, w.k_norm.view(), kv_heads);
  if (c.value_norm) norm(v, weights->ones().view().part(0, head_dim), kv_heads);
}

void Decoder::DeviceState::grow_queries(View<float> queries, int64_t count, int64_t position,
                                        const QueryGrowth& growth) {
  const ModelConfig& c = model().config;
  ops().grow_queries(queries, count, int64_t{c.heads} * c.head_dim, position, growth);
}

void Decoder::DeviceState::project_back(int layer, bool recurrent, const PartOutput& y) {
  const ModelConfig& c = model().config;
  if (recurrent && c.delta.empty()) {
    const DeviceWeight& back = weights->layer(layer).recurrent.output;
    ops().take(mixed.view(), rows, back.matrix->cols(), *input);
    return multiply(*input, rows, {{back, y.y, y.add}});
  }
  const DeviceWeight& output = weights->layer(layer).output;
  const bool latent_ones = c.latent.used();
  const int64_t width = latent_ones ? int64_t{c.heads} * c.latent.value : output.matrix->cols();
  ops().take(latent_ones ? latent_values(layer) : mixed.view(), rows, width, *input);
  multiply(*input, rows, {{output, y.y, y.add}});
}

void Decoder::DeviceState::feed(int layer, const PartOutput& y) {
  const ModelConfig& c = model().config;
  const DeviceLayer& w = weights->layer(layer);
  if (c.ungated != Ungated::kNone) return feed_ungated(layer, y);
  const int64_t ffn = nth(model().layers, layer).gate.rows();
  const View<float> gated = gate.resize(queue, rows * ffn);
  const View<float> raised = up.resize(queue, rows * ffn);
  const bool plain = w.gate.is_matrix_alone() && w.up.is_matrix_alone();
  if (!plain || !ops().gated_products(*input, *w.gate.matrix, *w.up.matrix, c.gating, gated, raised,
                                      *inner)) {
    multiply(*input, rows, {{w.gate, gated}, {w.up, raised}});
    ops().swiglu(gated, raised, c.gating, rows, ffn, *inner);
  }
  if (w.shared_gate.matrix != nullptr) return feed_gated(w, y);
  multiply(*inner, rows, {{w.down, y.y, y.add}});
}

void Decoder::DeviceState::feed_ungated(int layer, const PartOutput& y) {
  const DeviceLayer& w = weights->layer(layer);
  const LayerWeights& own = nth(model().layers, layer);
  const int64_t ffn = own.up.rows();
  const View<float> raised = up.resize(queue, rows * ffn);
  multiply(*input, rows, {{w.up, raised}});
  activate(queue, model().config.ungated, own.xielu, raised);
  ops().take(raised, rows, ffn, *inner);
  multiply(*inner, rows, {{w.down, y.y, y.add}});
}

void Decoder::DeviceState::mix_experts(int layer, const PartOutput& y) {
  route(layer);
  if (!model().config.weighs_inputs) return mix_routed(layer, *input, y);
  const int64_t hidden = model().config.hidden;
  weigh_rows(queue, routes.view(), normed.view(), rows, weighed.resize(queue, rows * hidden));
  ops().take(weighed.view(), rows, hidden, *inner);
  mix_routed(layer, *inner, y);
}

void Decoder::DeviceState::route(int layer) {
  const View<float> to = routes.resize(queue, rows * model().config.experts);
  multiply(*input, rows, {{weights->layer(layer).router, to, false, true}});
}

/// The experts that the last route() prefers, for the rows of `taken`. If the rows already include
/// the weights of their only experts, the weights are 1 (a softmax over the chosen expert alone).
void Decoder::DeviceState::mix_routed(int layer, const DeviceInput& taken, const PartOutput& y) {
  const ModelConfig& c = model().config;
  const DeviceLayer& w = weights->layer(layer);
  const auto role = [](const DeviceWeight& of) {
    return DeviceExperts::Role{of.matrix.get(), of.bias.view()};
  };
  const auto or_null = [](const Array<float>& numbers) {
    return numbers.size() == 0 ? nullptr : numbers.view().address();
  };
  ExpertRule rule = c.expert_rule(or_null(w.choice_bias), or_null(w.expert_scales));
  if (c.weighs_inputs) rule = {};
  ops().mix_experts(taken, routes.view(),
                    {.count = c.experts,
                     .used = c.experts_used,
                     .rule = rule,
                     .gating = c.ungated == Ungated::kNone ? c.gating : kSquaredReluGating,
                     .gate = role(w.experts_gate),
                     .up = role(w.experts_up),
                     .down = role(w.experts_down)},
                    y.y, y.add);
}

void Decoder::DeviceState::add_sublayer(int layer, RowNorm norm, float scale) {
  const ModelConfig& c = model().config;
  ops().add_scaled(sublayer.view(), weights->layer(layer).norm(norm).view(), c.norm_eps, scale,
                   rows, c.hidden, stream.view());
}

View<float> Decoder::DeviceState::head(const float* hidden, int64_t count, float*) {
  const ModelConfig& c = model().config;
  LH_ASSERT(queue.rank() == 0);
  const View<const float> x(hidden, count * c.hidden, queue.place());
  const View<const float> norm = weights->final_norm().view();
  if (c.mean_norms) {
    const View<float> to = normed.resize(queue, count * c.hidden);
    layer_norm(queue, x, norm, c.norm_eps, count, c.hidden, to);
    ops().take(to, count, c.hidden, *input);
  } else {
    ops().rms_norm(x, norm, c.norm_eps, count, c.hidden, *input);
  }
  const View<float> y = result.resize(queue, count * c.vocab);
  multiply(*input, count, {{weights->head(), y, false, true}});
  if (c.logit_scale != 1 || c.logit_cap > 0) ops().scale_and_cap(y, c.logit_scale, c.logit_cap);
  return y;
}

namespace {

/// Returns the working memory in bytes of the experts for `rows` rows
/// (ops/matmul/expert_mix.gpu.h).
size_t expert_bytes(const ModelConfig& c, int64_t rows) {
  if (c.experts == 0) return 0;
  const auto n = [](int64_t count) { return static_cast<size_t>(count); };
  // A choice is a pair of a row and one of its experts. The buffers are: router logits and choices
  // in sorted order; results of all choices in bf16; and for a group of experts, to which all rows
  // may be assigned, their matrices, gathered rows, gate and up in bf16.
  const int64_t choices = int64_t{c.experts_used} * rows;
  const int64_t some = std::min(choices, std::max(rows, kMostExpertRows));
  const size_t lists = n(rows * c.experts) * sizeof(float) + n(choices) * 16;
  const size_t matrices = std::max(kMostExpandedExperts, n(4 * c.ffn) * n(c.hidden));
  const size_t expanded =
      matrices + n(choices * c.hidden + some * (c.hidden + 2 * c.ffn)) * sizeof(bf16_t);
  // If there are few choices, another path is used: everything is f32, and gate and up are also in
  // bf16 and int8. For the smallest weight types, the first path is faster from 22 choices per
  // expert on.
  const int64_t few = std::min(choices, 22 * int64_t{c.experts} + 8 * int64_t{c.experts_used});
  const size_t stored = n(few) * n(3 * c.ffn + c.hidden) * sizeof(float);
  return lists + std::max(expanded, stored) + kGroupedWorkspace;
}

/// Bytes of recurrent layers and gates.
size_t gated_bytes(const ModelConfig& c, int64_t rows) {
  const DeltaShape& d = c.delta;
  int64_t numbers = 0;  // floats per row
  if (!d.empty()) numbers += d.channels() + 2 * d.values() + 2 * int64_t{d.value_heads};
  numbers += c.ssm.empty() ? 3 * int64_t{c.convolution.width} : c.ssm.projected();
  if (c.output_gate) numbers += int64_t{c.heads} * c.head_dim;
  if (c.shared_gate) numbers += c.hidden + 1;
  return static_cast<size_t>(rows * numbers) * sizeof(float) + delta_device_bytes(d, rows) +
         ssm_device_bytes(c.ssm, rows);
}

/// Returns the number of floats per row that only some families need.
int64_t numbers_of_few_families(const ModelConfig& c, int64_t kv_width) {
  const int64_t hidden = c.hidden, heads = c.heads;
  const LatentShape& l = c.latent;
  int64_t numbers = 0;
  const bool both = !c.recurrent.empty() && !c.attentive.empty();
  if (c.mean_norms || c.parallel || both || c.weighs_inputs) numbers += hidden;
  if (c.weighs_inputs) numbers += hidden;
  if (c.experts_apart) numbers += hidden;
  // Keys and values of two layers that later layers use.
  if (!c.kv_layer.empty()) numbers += 4 * kv_width;
  if (c.layer_input > 0) numbers += (2 * int64_t{c.layers} + 2) * c.layer_input + hidden;
  if (l.used()) numbers += heads * (l.query() + l.value) + l.query_rank + l.rank + l.rope;
  return numbers;
}

}  // namespace

size_t Decoder::device_working_bytes(const Model& model, int64_t rows, int64_t keys,
                                     Compute compute) {
  const ModelConfig& c = model.config;
  const auto n = [](int64_t count) { return static_cast<size_t>(count); };
  const int64_t q_width = int64_t{c.heads} * c.head_dim;
  const int64_t kv_width =
      int64_t{*std::max_element(c.kv_heads.begin(), c.kv_heads.end())} * c.head_dim;
  const LatentShape& latent = c.latent;
  const int64_t heads = c.heads;
  // Width of the input of attention's output matrix, and of the widest result of a multiplication.
  const int64_t output = latent.used() ? heads * latent.value : q_width;
  const int64_t widest =
      std::max<int64_t>({c.hidden, c.recurrent.empty() ? 0 : c.recurrent_width(),
                         latent.used() ? std::max(output, heads * latent.query()) : q_width});
  // In f32: the residual stream, sublayer outputs, queries before and after rotation, attention
  // outputs, keys and values, gate and up.
  const int64_t ffn = std::max(c.widest_ffn(), latent.query_rank);
  const int64_t f32 =
      2 * c.hidden + 3 * q_width + 3 * kv_width + 2 * ffn + numbers_of_few_families(c, kv_width);
  const size_t row = n(f32) * sizeof(float) + n(widest + ffn) * sizeof(bf16_t);
  const int64_t logit_rows =
      rows <= kMostBatchRows ? std::min(rows, DeviceInput::kMostDecodeRows) : 1;
  // Few rows are also kept in int8: runs of 16 with two factors.
  const size_t int8 = n(DeviceInput::kMostDecodeRows) * n(widest + ffn) * 24 / 16;
  // The largest matrix in bf16, and operands in 8-bit floats with one scale per row.
  const int64_t recurrent_in =
      c.ssm.empty() ? 3 * int64_t{c.convolution.width} : c.ssm.inner() + c.ssm.channels();
  const int64_t largest = std::max<int64_t>({ffn, widest, recurrent_in});
  const size_t expanded = n(largest * c.hidden) * sizeof(bf16_t);
  const size_t fp8 = compute != Compute::kFp8
                         ? 0
                         : n(largest * c.hidden + rows * (widest + ffn) + 4 * (largest + 2 * rows));
  // Copies of keys and values of one or more KV heads, for attention
  // (ops/attention/staged_keys.gpu.h).
  const size_t gathered =
      std::max(kMostGatheredKeys, n(keys / 64 + 1) * bf16_page_bytes(c.head_dim));
  // Key lists of sparse attention methods, including the spare room of arrays.
  constexpr size_t kLists = kListedOnDevice * sizeof(int32_t) / 4 * 5;
  const size_t parts = c.head_dim > 256 ? kWideParts : 0;
  return n(rows) * row + expert_bytes(c, rows) + parts + gated_bytes(c, rows) + int8 + expanded +
         fp8 + kProductWorkspace + gathered + kLists + n(logit_rows * c.vocab) * sizeof(float);
}

}  // namespace longhaul
