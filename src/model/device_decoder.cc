#include "model/device_decoder.h"

#include <algorithm>

#include "base/error.h"
#include "ops/tile_lists.h"

namespace longhaul {

Decoder::DeviceState::DeviceState(std::shared_ptr<const DeviceModel> of, Compute c)
    : State(of->model(), c), weights(std::move(of)) {
  queue = weights->queue();
  input = ops().input();
  inner = ops().input();
  low_input = ops().input();
}

void Decoder::DeviceState::embed(std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) LH_ASSERT(token >= 0 && token < model.config.vocab);
  ops().embed(weights->embedding(), tokens, stream.resize(queue, rows * model.config.hidden));
}

const DeviceInput& Decoder::DeviceState::normalised(const Array<float>& weight) {
  ops().rms_norm(stream.view(), weight.view(), model.config.norm_eps, rows, model.config.hidden,
                 *input);
  return *input;
}

void Decoder::DeviceState::multiply(const DeviceInput& taken, int64_t count,
                                    std::initializer_list<Job> jobs) {
  std::vector<DeviceLinear> products;
  for (const Job& job : jobs) {
    products.push_back({job.weight.matrix.get(), job.y, job.weight.bias.view(), job.add});
  }
  ops().linear(taken, products);
  for (const Job& job : jobs) {
    const DeviceAdapter& adapter = job.weight.adapter;
    if (adapter.a == nullptr) continue;
    const int64_t rank = adapter.a->rows();
    const DeviceLinear down{adapter.a.get(), low.resize(queue, count * rank), {}, false};
    ops().linear(taken, {&down, 1});
    ops().take(low.view(), count, rank, *low_input);
    const DeviceLinear back{adapter.b.get(), job.y, {}, true};
    ops().linear(*low_input, {&back, 1});
  }
}

Projected Decoder::DeviceState::projected(int layer, int kv_heads) {
  const ModelConfig& c = model.config;
  const DeviceLayer& w = weights->layer(layer);
  const int64_t q_width = int64_t{c.heads} * c.head_dim, kv_width = int64_t{kv_heads} * c.head_dim;
  const View<float> queries = q.resize(queue, rows * q_width);
  const View<float> keys = k.resize(queue, rows * kv_width);
  const View<float> values = v.resize(queue, rows * kv_width);
  multiply(normalised(w.attention_norm), rows, {{w.q, queries}, {w.k, keys}, {w.v, values}});
  if (w.q_norm.size() > 0) {
    ops().rms_norm_heads(queries, w.q_norm.view(), c.norm_eps, rows, c.heads, c.head_dim);
    ops().rms_norm_heads(keys, w.k_norm.view(), c.norm_eps, rows, kv_heads, c.head_dim);
  }
  return {queries, keys, values, mixed.resize(queue, rows * q_width)};
}

void Decoder::DeviceState::add_attention(int layer) {
  ops().take(mixed.view(), rows, int64_t{model.config.heads} * model.config.head_dim, *input);
  multiply(*input, rows, {{weights->layer(layer).output, stream.view(), true}});
}

void Decoder::DeviceState::feed_forward(int layer) {
  const DeviceLayer& w = weights->layer(layer);
  const int64_t numbers = rows * model.config.ffn;
  const View<float> gated = gate.resize(queue, numbers), raised = up.resize(queue, numbers);
  multiply(normalised(w.ffn_norm), rows, {{w.gate, gated}, {w.up, raised}});
  ops().swiglu(gated, raised, rows, model.config.ffn, *inner);
  multiply(*inner, rows, {{w.down, stream.view(), true}});
}

void Decoder::DeviceState::logits(const float* hidden, int64_t count, float* out) {
  const ModelConfig& c = model.config;
  ops().rms_norm({hidden, count * c.hidden, queue.place()}, weights->final_norm().view(),
                 c.norm_eps, count, c.hidden, *input);
  const View<float> y = result.resize(queue, count * c.vocab);
  multiply(*input, count, {{weights->head(), y}});
  queue.device().download(y.address(), out, static_cast<size_t>(y.size()) * sizeof(float));
}

size_t Decoder::device_working_bytes(const Model& model, int64_t rows) {
  const ModelConfig& c = model.config;
  const auto n = [](int64_t count) { return static_cast<size_t>(count); };
  const int64_t q_width = int64_t{c.heads} * c.head_dim;
  const int64_t kv_width =
      int64_t{*std::max_element(c.kv_heads.begin(), c.kv_heads.end())} * c.head_dim;
  const int64_t widest = std::max<int64_t>(c.hidden, q_width);
  // f32: the stream, queries raw and rotated, what attention writes, keys and values, gate and up.
  const int64_t f32 = c.hidden + 3 * q_width + 3 * kv_width + 2 * c.ffn;
  const size_t row = n(f32) * sizeof(float) + n(widest + c.ffn) * sizeof(bf16_t);
  // Few rows are kept in int8, too: 16 of them with two factors.
  const size_t int8 = 8 * n(widest + c.ffn) * 24 / 16;
  // The largest matrix in bf16, and the workspace of the library.
  const size_t expanded = n(std::max<int64_t>(c.ffn, widest) * c.hidden) * sizeof(bf16_t);
  // ... and keys that attention gathers (ops/cuda/staged_keys.h).
  constexpr size_t kWorkspace = (size_t{64} + 256) << 20;
  // Lists of keys, of methods that have them, with what arrays grow by.
  constexpr size_t kLists = kListedOnDevice * sizeof(int32_t) / 4 * 5;
  return n(rows) * row + int8 + expanded + kWorkspace + kLists + n(c.vocab) * sizeof(float);
}

}  // namespace longhaul
