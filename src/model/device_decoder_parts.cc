// Steps that only few families have, on a device: multi-head latent attention, experts with norms
// of their own, and per-layer embeddings.

#include <cmath>

#include "model/device_decoder.h"
#include "ops/attention/latent_keys.h"
#include "ops/core/columns.h"
#include "ops/core/fill.h"

namespace longhaul {

/// Computes queries and keys, as LatentLayer::project() defines them.
void Decoder::DeviceState::project_latent(int layer) {
  const ModelConfig& c = model().config;
  const LatentShape& l = c.latent;
  const DeviceLayer& w = weights->layer(layer);
  const int64_t heads = rows * c.heads, query = l.query(), key = l.rank + l.rope;
  const View<float> of_heads = latent_queries.resize(queue, heads * query);
  const View<float> products = latent_products.resize(queue, rows * key);
  if (w.q_down.matrix == nullptr) {
    multiply(*input, rows, {{w.kv_down, products}, {w.q, of_heads}});
  } else {
    const View<float> low_rank = low_queries.resize(queue, rows * l.query_rank);
    multiply(*input, rows, {{w.kv_down, products}, {w.q_down, low_rank}});
    ops().rms_norm(low_rank, w.q_down_norm.view(), l.eps, rows, l.query_rank, *inner);
    multiply(*inner, rows, {{w.q, of_heads}});
  }
  latent_keys(queue, {rows, l.rank, l.rope, l.eps}, products, w.kv_down_norm.view(), k.view());
  copy(queue, k.view(), v.view());
  copy_row_columns(queue, {of_heads.from(l.plain), query}, {q.view(), key}, heads, l.rope);
  multiply_heads(queue, rows, w.k_up->view(), {of_heads, query, 0}, {q.view(), key, l.rope});
}

/// Returns the outputs of the heads, as LatentLayer::values() defines them.
View<const float> Decoder::DeviceState::latent_values(int layer) {
  const ModelConfig& c = model().config;
  const LatentShape& l = c.latent;
  const View<float> to = latent_outputs.resize(queue, rows * c.heads * l.value);
  multiply_heads(queue, rows, weights->layer(layer).v_up->view(),
                 {mixed.view(), l.rank + l.rope, l.rope}, {to, l.value, 0});
  return to;
}

void Decoder::DeviceState::feed_apart(int layer, const PartOutput& y) {
  const ModelConfig& c = model().config;
  const DeviceLayer& w = weights->layer(layer);
  const int64_t all = rows * c.hidden;
  const View<float> x = stream.view().part(0, all), out = y.y.part(0, all);
  LH_ASSERT(!y.add);
  feed(layer, y);
  ops().rms_norm_heads(out, w.network_after_norm.view(), c.norm_eps, rows, 1, c.hidden);
  ops().rms_norm(x, w.router_norm.view(), c.norm_eps, rows, c.hidden, *input);
  route(layer);
  ops().rms_norm(x, w.experts_norm.view(), c.norm_eps, rows, c.hidden, *input);
  const View<float> of_experts = apart.resize(queue, all);
  mix_routed(layer, *input, {of_experts, false});
  ops().add_scaled(of_experts, w.experts_after_norm.view(), c.norm_eps, 1, rows, c.hidden, out);
}

/// Computes the per-layer embeddings of all layers, as LayerInputs::begin() defines them. The norm
/// of x / sqrt(n) is computed as the norm of x with an epsilon that is n times as large.
void Decoder::DeviceState::begin_layer_inputs(std::span<const int32_t> tokens) {
  const ModelConfig& c = model().config;
  const int64_t all = int64_t{c.layers} * c.layer_input;
  const float half = std::sqrt(0.5f), grow = std::sqrt(static_cast<float>(c.layer_input));
  const View<float> to = layer_inputs.resize(queue, rows * all);
  const View<float> products = projected.resize(queue, rows * all);
  ops().embed(weights->layer_embedding(), tokens, grow * half, to);
  ops().take(stream.view(), rows, c.hidden, *input);
  multiply(*input, rows, {{weights->layer_projection(), products}});
  ops().add_scaled(products, weights->layer_projection_norm().view(),
                   c.norm_eps * static_cast<float>(c.hidden), half, rows * c.layers, c.layer_input,
                   to);
}

void Decoder::DeviceState::add_layer_input(int layer) {
  const ModelConfig& c = model().config;
  const DeviceLayer& w = weights->layer(layer);
  const int64_t width = c.layer_input, all = c.layers * width;
  const View<float> own = layer_input.resize(queue, rows * width);
  const View<float> gates = input_gates.resize(queue, rows * width);
  const View<float> added = input_added.resize(queue, rows * c.hidden);
  copy_row_columns(queue, {layer_inputs.view().from(layer * width), all}, {own, width}, rows,
                   width);
  ops().take(stream.view(), rows, c.hidden, *input);
  multiply(*input, rows, {{w.input_gate, gates}});
  ops().swiglu(gates, own, c.gating, rows, width, *inner);
  multiply(*inner, rows, {{w.input_output, added}});
  ops().add_scaled(added, w.input_norm.view(), c.norm_eps, 1, rows, c.hidden, stream.view());
}

void Decoder::DeviceState::end_layer(int layer) {
  const ModelConfig& c = model().config;
  if (c.layer_input > 0) add_layer_input(layer);
  const float scale = nth(model().layers, layer).scale;
  if (scale != 1) ops().scale_and_cap(stream.view().part(0, rows * c.hidden), scale, 0);
}

void Decoder::DeviceState::move_layer_input(int layer, int64_t from, int64_t to) {
  const int64_t width = model().config.layer_input, all = model().config.layers * width;
  const View<float> inputs = layer_inputs.view();
  copy(queue, inputs.part(from * all + layer * width, width),
       inputs.part(to * all + layer * width, width));
}

}  // namespace longhaul
