#include "model/device_model.h"

#include "base/error.h"
#include "base/nth.h"
#include "ops/dequantize.h"

namespace longhaul {

std::shared_ptr<const DeviceMatrix> DeviceModel::matrix(const TensorView& weight,
                                                        const RowOrder& order) {
  if (!order.empty()) {
    const std::vector<std::byte> rows = reordered(weight, order);
    TensorView view = weight;
    view.data = rows.data();
    return matrix(view);
  }
  auto copy = device_ops(queue_)->matrix(weight);
  if (copy == nullptr) {
    user_error("{}: the GPU has no form for {} weights; use --device cpu", weight.name,
               name_of(weight.type));
  }
  bytes_ += copy->bytes();
  return copy;
}

Array<float> DeviceModel::numbers(const std::vector<float>& values, const RowOrder& order) {
  Array<float> copy;
  if (values.empty()) return copy;
  if (!order.empty()) {
    std::vector<float> other;
    for (const int64_t from : order) other.push_back(nth(values, from));
    return numbers(other);
  }
  copy.resize(queue_, std::ssize(values));
  queue_.device().upload(values.data(), copy.view().address(), values.size() * sizeof(float));
  bytes_ += values.size() * sizeof(float);
  return copy;
}

DeviceWeight DeviceModel::weight(const TensorView& weight, const LowRank* adapter,
                                 const std::vector<float>& bias, const RowOrder& order) {
  DeviceWeight copy;
  copy.matrix = matrix(weight, order);
  copy.bias = numbers(bias, order);
  if (adapter == nullptr || adapter->empty()) return copy;
  const int64_t rank = adapter->rank(), cols = adapter->a.cols();
  std::vector<float> scaled(static_cast<size_t>(rank * cols));
  dequantize_rows(adapter->a, 0, rank, scaled.data());
  for (int64_t i = 0; i < rank * cols; ++i) {
    scaled[static_cast<size_t>(i)] *= adapter->scale[static_cast<size_t>(i / cols)];
  }
  TensorView a = adapter->a;
  a.data = reinterpret_cast<const std::byte*>(scaled.data());
  a.type = DType::F32;
  copy.adapter = {matrix(a), matrix(adapter->b, order)};
  return copy;
}

DeviceModel::DeviceModel(const Model& model, const Queue& queue) : model_(model), queue_(queue) {
  if (const std::string more = model.config.beyond_plain(); !more.empty()) {
    user_error("{} models need {}, which the GPU does not do yet; use --device cpu",
               model.config.architecture, more);
  }
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LayerWeights& w = model.layers[i];
    const LayerAdapters* const adapters = model.adapters.empty() ? nullptr : &model.adapters[i];
    const auto beside = [&](LowRank LayerAdapters::*of) {
      return adapters == nullptr ? nullptr : &(adapters->*of);
    };
    const auto in_halves = [&](int64_t rows) {
      const ModelConfig& c = model.config;
      return c.interleaved_rope ? halves_from_pairs(rows, c.head_dim, c.rope.rotary_dim)
                                : RowOrder();
    };
    DeviceLayer& layer = layers_.emplace_back();
    layer.attention_norm = numbers(w.attention_norm);
    layer.ffn_norm = numbers(w.ffn_norm);
    layer.q_norm = numbers(w.q_norm, in_halves(std::ssize(w.q_norm)));
    layer.k_norm = numbers(w.k_norm, in_halves(std::ssize(w.k_norm)));
    layer.q = weight(w.q, beside(&LayerAdapters::q), w.q_bias, in_halves(w.q.rows()));
    layer.k = weight(w.k, beside(&LayerAdapters::k), w.k_bias, in_halves(w.k.rows()));
    layer.v = weight(w.v, beside(&LayerAdapters::v), w.v_bias);
    layer.output = weight(w.output, beside(&LayerAdapters::output));
    layer.gate = weight(w.gate, beside(&LayerAdapters::gate));
    layer.up = weight(w.up, beside(&LayerAdapters::up));
    layer.down = weight(w.down, beside(&LayerAdapters::down));
  }
  embedding_ = matrix(model.embedding);
  final_norm_ = numbers(model.final_norm);
  if (model.head.data == model.embedding.data) {
    head_.matrix = embedding_;
    if (!model.head_adapter.empty()) {
      user_error(
          "{}: an adapter of the tied output matrix does not run on the GPU; use "
          "--device cpu",
          model.head.name);
    }
  } else {
    head_ = weight(model.head, &model.head_adapter);
  }
}

}  // namespace longhaul
