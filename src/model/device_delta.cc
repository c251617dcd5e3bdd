// Weights and steps of gated delta nets and of gated attention outputs on a device.

#include "model/device_decoder.h"
#include "ops/delta/sigmoid_gates.h"

namespace longhaul {
namespace {

/// Returns an order that selects rows of a matrix with interleaved rows. The rows form groups, and
/// each group consists of runs of the given lengths. The order contains run `which` of every group.
RowOrder runs_of(int64_t groups, std::initializer_list<int64_t> lengths, size_t which) {
  int64_t all = 0, before = 0, own = 0;
  size_t i = 0;
  for (const int64_t length : lengths) {
    if (i < which) before += length;
    if (i == which) own = length;
    all += length;
    ++i;
  }
  RowOrder order;
  for (int64_t group = 0; group < groups; ++group) {
    for (int64_t r = 0; r < own; ++r) order.push_back(group * all + before + r);
  }
  return order;
}

/// Returns the order of the rows of the given parts (queries, keys, values, gates) in a matrix
/// whose rows are interleaved by key heads.
RowOrder woven_rows(const DeltaShape& d, std::initializer_list<size_t> parts) {
  const int64_t values = d.values() / d.key_heads;
  RowOrder order;
  for (const size_t part : parts) {
    const RowOrder run = runs_of(d.key_heads, {d.key_dim, d.key_dim, values, values}, part);
    order.insert(order.end(), run.begin(), run.end());
  }
  return order;
}

}  // namespace

void DeviceModel::copy_gated_queries(const LayerWeights& from, const LayerAdapters& adapters,
                                     DeviceLayer& to) {
  const ModelConfig& c = model_.config;
  LH_ASSERT(!c.interleaved_rope);
  const auto part = [&](size_t which) {
    return weight(from.q, adapters.q, from.q_bias,
                  runs_of(c.heads, {c.head_dim, c.head_dim}, which));
  };
  to.q = part(0);
  to.q_gate = part(1);
}

void DeviceModel::copy_delta(const LayerWeights& from, const LayerAdapters& adapters,
                             DeviceLayer& to) {
  const DeltaShape& d = model_.config.delta;
  DeviceDelta& delta = to.delta;
  if (from.delta_z.data != nullptr) {
    delta.in = weight(from.delta_in, adapters.delta_in);
    delta.z = weight(from.delta_z, adapters.delta_z);
  } else {
    delta.in = weight(from.delta_in, adapters.delta_in, {}, woven_rows(d, {0, 1, 2}));
    delta.z = weight(from.delta_in, adapters.delta_in, {}, woven_rows(d, {3}));
  }
  if (from.delta_a.data != nullptr) {
    delta.b = weight(from.delta_b, adapters.delta_b);
    delta.a = weight(from.delta_a, adapters.delta_a);
  } else {
    const int64_t heads = d.value_heads / d.key_heads;
    delta.b = weight(from.delta_b, adapters.delta_b, {}, runs_of(d.key_heads, {heads, heads}, 0));
    delta.a = weight(from.delta_b, adapters.delta_b, {}, runs_of(d.key_heads, {heads, heads}, 1));
  }
  delta.convolution = numbers(from.convolution);
  delta.dt_bias = numbers(from.dt_bias);
  delta.rate = numbers(from.rate);
  delta.norm = numbers(from.delta_norm);
  to.output = weight(from.output, adapters.output);
}

void Decoder::DeviceState::project_gated(int layer, int kv_heads) {
  const ModelConfig& c = model().config;
  const DeviceLayer& w = weights->layer(layer);
  const int64_t q_width = int64_t{c.heads} * c.head_dim, kv_width = int64_t{kv_heads} * c.head_dim;
  multiply(*input, rows,
           {{w.q, q.resize(queue, rows * q_width)},
            {w.q_gate, output_gates.resize(queue, rows * q_width)},
            {w.k, k.resize(queue, rows * kv_width)},
            {w.v, v.resize(queue, rows * kv_width)}});
}

void Decoder::DeviceState::gate_output() {
  multiply_by_sigmoid(queue, mixed.view(), output_gates.view());
}

void Decoder::DeviceState::project_delta(int layer) {
  const DeltaShape& d = model().config.delta;
  const DeviceDelta& w = weights->layer(layer).delta;
  multiply(*input, rows,
           {{w.in, delta_qkv.resize(queue, rows * d.channels())},
            {w.z, delta_z.resize(queue, rows * d.values())},
            {w.b, delta_b.resize(queue, rows * d.value_heads), false, true},
            {w.a, delta_a.resize(queue, rows * d.value_heads), false, true}});
}

void Decoder::DeviceState::mix_delta(int layer, std::span<const RecurrentTask> tasks) {
  const ModelConfig& c = model().config;
  const DeviceDelta& w = weights->layer(layer).delta;
  const DeltaInputs in = {.qkv = delta_qkv.view(),
                          .gates = delta_z.view(),
                          .beta = delta_b.view(),
                          .alpha = delta_a.view(),
                          .convolution = w.convolution.view(),
                          .dt_bias = w.dt_bias.view(),
                          .rate = w.rate.view(),
                          .norm = w.norm.view(),
                          .eps = c.norm_eps};
  delta_mix(queue, c.delta, in, tasks, mixed.view(), convolved);
}

/// Computes the shared expert and multiplies each row of its output by a gate.
void Decoder::DeviceState::feed_gated(const DeviceLayer& w, const PartOutput& y) {
  LH_ASSERT(y.add);
  const int64_t hidden = model().config.hidden;
  multiply(*inner, rows, {{w.down, shared.resize(queue, rows * hidden)}});
  multiply(*input, rows, {{w.shared_gate, share.resize(queue, rows), false, true}});
  add_gated(queue, y.y.part(0, rows * hidden), shared.view(), share.view());
}

}  // namespace longhaul
