#include "model/device_decoder.h"

#include <algorithm>

#include "base/error.h"
#include "ops/choose/tile_lists.h"
#include "ops/core/device_room.h"

namespace longhaul {

Decoder::DeviceState::DeviceState(std::shared_ptr<const DeviceModel> of, Compute c)
    : State(of->model(), c, of->queue()), weights(std::move(of)) {
  input = ops().input(c);
  inner = ops().input(c);
  low_input = ops().input();
}

void Decoder::DeviceState::embed(std::span<const int32_t> tokens) {
  const ModelConfig& c = model.config;
  for (DeviceInput* each : {input.get(), inner.get(), low_input.get()}) {
    each->set_row_kind(in_batch ? RowKind::kDecode : RowKind::kPrefill);
  }
  for (const int32_t token : tokens) LH_ASSERT(token >= 0 && token < c.vocab);
  ops().embed(weights->embedding(), tokens, c.embedding_scale,
              stream.resize(queue, rows * c.hidden));
}

void Decoder::DeviceState::normalise(int layer, RowNorm norm) {
  const ModelConfig& c = model.config;
  const View<const float> weight = weights->layer(layer).norm(norm).view();
  if (weight.empty()) return ops().take(stream.view(), rows, c.hidden, *input);
  ops().rms_norm(stream.view(), weight, c.norm_eps, rows, c.hidden, *input);
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
  const ModelConfig& c = model.config;
  const DeviceLayer& w = weights->layer(layer);
  const int64_t q_width = int64_t{c.heads} * c.head_dim, kv_width = int64_t{kv_heads} * c.head_dim;
  multiply(*input, rows,
           {{w.q, q.resize(queue, rows * q_width)},
            {w.k, k.resize(queue, rows * kv_width)},
            {w.v, v.resize(queue, rows * kv_width)}});
}

void Decoder::DeviceState::normalise_heads(int layer, int kv_heads) {
  const ModelConfig& c = model.config;
  const DeviceLayer& w = weights->layer(layer);
  const auto norm = [&](Array<float>& y, const Array<float>& weight, int heads) {
    const bool whole = c.qk_norm == QkNorm::kWhole;
    ops().rms_norm_heads(y.view(), weight.view(), c.norm_eps, rows, whole ? 1 : heads,
                         whole ? heads * c.head_dim : c.head_dim);
  };
  norm(q, w.q_norm, c.heads);
  norm(k, w.k_norm, kv_heads);
}

void Decoder::DeviceState::grow_queries(View<float> queries, int64_t count, int64_t position) {
  const ModelConfig& c = model.config;
  ops().grow_queries(queries, count, int64_t{c.heads} * c.head_dim, position, c.query_growth());
}

void Decoder::DeviceState::project_back(int layer, const PartOutput& y) {
  ops().take(mixed.view(), rows, int64_t{model.config.heads} * model.config.head_dim, *input);
  multiply(*input, rows, {{weights->layer(layer).output, y.y, y.add}});
}

void Decoder::DeviceState::feed(int layer, const PartOutput& y) {
  const ModelConfig& c = model.config;
  const DeviceLayer& w = weights->layer(layer);
  const int64_t ffn = nth(model.layers, layer).gate.rows();
  const View<float> gated = gate.resize(queue, rows * ffn);
  const View<float> raised = up.resize(queue, rows * ffn);
  const bool plain = w.gate.is_matrix_alone() && w.up.is_matrix_alone();
  if (!plain || !ops().gated_products(*input, *w.gate.matrix, *w.up.matrix, c.gating, gated, raised,
                                      *inner)) {
    multiply(*input, rows, {{w.gate, gated}, {w.up, raised}});
    ops().swiglu(gated, raised, c.gating, rows, ffn, *inner);
  }
  multiply(*inner, rows, {{w.down, y.y, y.add}});
}

void Decoder::DeviceState::mix_experts(int layer, const PartOutput& y) {
  const ModelConfig& c = model.config;
  const DeviceLayer& w = weights->layer(layer);
  multiply(*input, rows, {{w.router, routes.resize(queue, rows * c.experts), false, true}});
  const auto role = [](const DeviceWeight& of) {
    return DeviceExperts::Role{of.matrix.get(), of.bias.view()};
  };
  const View<const float> bias = w.choice_bias.view();
  ops().mix_experts(*input, routes.view(),
                    {.count = c.experts,
                     .used = c.experts_used,
                     .rule = c.expert_rule(bias.empty() ? nullptr : bias.address()),
                     .gating = c.gating,
                     .gate = role(w.experts_gate),
                     .up = role(w.experts_up),
                     .down = role(w.experts_down)},
                    y.y, y.add);
}

void Decoder::DeviceState::add_sublayer(int layer, RowNorm norm) {
  const ModelConfig& c = model.config;
  ops().add_scaled(sublayer.view(), weights->layer(layer).norm(norm).view(), c.norm_eps,
                   c.residual_scale, rows, c.hidden, stream.view());
}

View<float> Decoder::DeviceState::head(const float* hidden, int64_t count, float*) {
  const ModelConfig& c = model.config;
  LH_ASSERT(queue.rank() == 0);
  ops().rms_norm({hidden, count * c.hidden, queue.place()}, weights->final_norm().view(),
                 c.norm_eps, count, c.hidden, *input);
  const View<float> y = result.resize(queue, count * c.vocab);
  multiply(*input, count, {{weights->head(), y, false, true}});
  if (c.logit_scale != 1 || c.logit_cap > 0) ops().scale_and_cap(y, c.logit_scale, c.logit_cap);
  return y;
}

namespace {

/// Bytes of the experts for rows of a pass (ops/matmul/expert_mix.gpu.h).
size_t expert_bytes(const ModelConfig& c, int64_t rows) {
  if (c.experts == 0) return 0;
  const auto n = [](int64_t count) { return static_cast<size_t>(count); };
  // Logits and choices with their order. For all choices: results in bf16. For a group of experts,
  // to which all rows may be assigned: their matrices, gathered rows, gate and up, also in bf16.
  const int64_t choices = int64_t{c.experts_used} * rows;
  const int64_t some = std::min(choices, std::max(rows, kMostExpertRows));
  const size_t lists = n(rows * c.experts) * sizeof(float) + n(choices) * 16;
  const size_t matrices = std::max(kMostExpandedExperts, n(4 * c.ffn) * n(c.hidden));
  const size_t expanded =
      matrices + n(choices * c.hidden + some * (c.hidden + 2 * c.ffn)) * sizeof(bf16_t);
  // The alternative for few choices: everything in f32, and gate and up in bf16 and int8. For the
  // smallest types expansion is faster from 22 choices per expert on.
  const int64_t few = std::min(choices, 22 * int64_t{c.experts} + 8 * int64_t{c.experts_used});
  const size_t stored = n(few) * n(3 * c.ffn + c.hidden) * sizeof(float);
  return lists + std::max(expanded, stored) + kGroupedWorkspace;
}

}  // namespace

size_t Decoder::device_working_bytes(const Model& model, int64_t rows, int64_t keys,
                                     Compute compute) {
  const ModelConfig& c = model.config;
  const auto n = [](int64_t count) { return static_cast<size_t>(count); };
  const int64_t q_width = int64_t{c.heads} * c.head_dim;
  const int64_t kv_width =
      int64_t{*std::max_element(c.kv_heads.begin(), c.kv_heads.end())} * c.head_dim;
  const int64_t widest = std::max<int64_t>(c.hidden, q_width);
  // f32: the stream, sublayer outputs, queries raw and rotated, attention outputs, keys and values,
  // gate and up.
  const int64_t ffn = c.widest_ffn();
  const int64_t f32 = 2 * c.hidden + 3 * q_width + 3 * kv_width + 2 * ffn;
  const size_t row = n(f32) * sizeof(float) + n(widest + ffn) * sizeof(bf16_t);
  const int64_t logit_rows = rows <= DeviceInput::kMostDecodeRows ? rows : 1;
  // Few rows are also kept in int8: runs of 16 with two factors.
  const size_t int8 = n(DeviceInput::kMostDecodeRows) * n(widest + ffn) * 24 / 16;
  // The largest matrix in bf16, and operands in 8-bit floats with one scale per row.
  const int64_t largest = std::max<int64_t>(ffn, widest);
  const size_t expanded = n(largest * c.hidden) * sizeof(bf16_t);
  const size_t fp8 = compute != Compute::kFp8
                         ? 0
                         : n(largest * c.hidden + rows * (widest + ffn) + 4 * (largest + 2 * rows));
  // Keys and values of one or more KV heads that attention gathers
  // (ops/attention/staged_keys.gpu.h).
  const size_t gathered =
      std::max(kMostGatheredKeys, n(keys / 64 + 1) * bf16_page_bytes(c.head_dim));
  // Lists of keys for methods that have them, with the growth of arrays.
  constexpr size_t kLists = kListedOnDevice * sizeof(int32_t) / 4 * 5;
  return n(rows) * row + expert_bytes(c, rows) + int8 + expanded + fp8 + kProductWorkspace +
         gathered + kLists + n(logit_rows * c.vocab) * sizeof(float);
}

}  // namespace longhaul
