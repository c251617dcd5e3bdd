#include "model/device_model.h"

#include "base/error.h"
#include "ops/matmul/dequantize.h"

namespace longhaul {
namespace {

/// Throws UserError if only the host can choose experts as the model does.
void refuse_host_parts(const Model& model) {
  const ModelConfig& c = model.config;
  constexpr int kMostGroups = 64;  // ops/matmul/experts.gpu.h
  if (c.expert_groups > kMostGroups) {
    user_error(
        "{}: experts in {} groups run on the CPU only, at most {} run on a GPU; use --device cpu",
        c.architecture, c.expert_groups, kMostGroups);
  }
}

}  // namespace

std::shared_ptr<const DeviceMatrix> DeviceModel::once(const Source& source, const Copy& copy) {
  if (base_ != nullptr) {
    if (const auto found = base_->copies_.find(source); found != base_->copies_.end()) {
      bytes_ += found->second->bytes();
      shared_bytes_ += found->second->bytes();
      return found->second;
    }
  }
  return copies_[source] = copy();
}

std::shared_ptr<const DeviceMatrix> DeviceModel::matrix(std::span<const TensorView> weights) {
  const DType type = weights.front().type;
  for (const TensorView& other : weights) {
    if (other.type == type) continue;
    user_error(
        "experts of one layer have {} and {} weights, which the GPU cannot put together; "
        "use --device cpu",
        name_of(type), name_of(other.type));
  }
  auto copy = queue_.device().ops().matrix(weights);
  if (copy == nullptr) {
    user_error("the model has {} weights, for which the GPU has no form; use --device cpu",
               name_of(type));
  }
  bytes_ += copy->bytes();
  return copy;
}

std::shared_ptr<const DeviceMatrix> DeviceModel::matrix(const TensorView& weight,
                                                        const RowOrder& order) {
  if (order.empty()) return matrix(std::span(&weight, 1));
  const std::vector<std::byte> rows = reordered(weight, order);
  TensorView view = weight;
  view.data = rows.data();
  view.shape = {std::ssize(order), weight.cols(), 1, 1};
  view.rank = 2;
  return matrix(view);
}

std::shared_ptr<const DeviceMatrix> DeviceModel::matrix(std::span<const TensorView> weights,
                                                        const Columns& columns) {
  if (columns.all()) return matrix(weights);
  std::vector<std::vector<std::byte>> bytes;
  std::vector<TensorView> parts(weights.begin(), weights.end());
  for (TensorView& part : parts) {
    part.data = bytes.emplace_back(packed(part, columns)).data();
    part.shape = {part.rows(), columns.count, 1, 1};
    part.rank = 2;
  }
  return matrix(parts);
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

DeviceAdapter DeviceModel::adapter(const LowRank& adapter, const RowOrder& order,
                                   const Columns& columns) {
  if (adapter.empty()) return {};
  const int64_t rank = adapter.rank(), cols = adapter.a.cols();
  std::vector<float> scaled(static_cast<size_t>(rank * cols));
  dequantize_rows(adapter.a, 0, rank, scaled.data());
  for (int64_t i = 0; i < rank * cols; ++i) nth(scaled, i) *= nth(adapter.scale, i / cols);
  TensorView a = adapter.a;
  a.data = reinterpret_cast<const std::byte*>(scaled.data());
  a.type = DType::F32;
  return {matrix({&a, 1}, columns), matrix(adapter.b, order)};
}

DeviceWeight DeviceModel::weight(const TensorView& weight, const LowRank& beside,
                                 const std::vector<float>& bias, const RowOrder& order) {
  const Source source = order.empty() ? Source{weight.data, weight.rows(), 0}
                                      : Source{weight.data, std::ssize(order), order.front()};
  return {once(source, [&] { return matrix(weight, order); }), numbers(bias, order),
          adapter(beside, order)};
}

DeviceWeight DeviceModel::weight(const TensorView& weight, const LowRank& beside,
                                 const std::vector<float>& bias, const Columns& columns) {
  const Source source = {weight.data, weight.rows(), columns.begin};
  return {once(source,
               [&] {
                 return matrix({&weight, 1}, columns);
               }),
          numbers(bias), adapter(beside, {}, columns)};
}

DeviceWeight DeviceModel::experts(const std::vector<ExpertWeights>& all,
                                  TensorView ExpertWeights::*role,
                                  std::vector<float> ExpertWeights::*bias, const Columns& columns) {
  std::vector<TensorView> matrices;
  std::vector<float> biases;
  for (const ExpertWeights& expert : all) {
    matrices.push_back(expert.*role);
    biases.insert(biases.end(), (expert.*bias).begin(), (expert.*bias).end());
  }
  const TensorView& first = matrices.front();
  const Source source = {first.data, std::ssize(matrices) * first.rows(), columns.begin};
  return {once(source, [&] { return matrix(matrices, columns); }), numbers(biases), {}};
}

void DeviceModel::copy_attention(const LayerWeights& from, const LayerAdapters& adapters,
                                 DeviceLayer& to) {
  const ModelConfig& c = model_.config;
  if (from.delta_in.data != nullptr) return copy_delta(from, adapters, to);
  if (from.recurrent_in.data != nullptr) copy_recurrent(from, adapters, to);
  if (from.output.data == nullptr) return;  // the layer has no attention
  if (c.latent.used()) return copy_latent(from, adapters, to);
  const auto in_halves = [&](int64_t rows) {
    return c.interleaved_rope ? halves_from_pairs(rows, c.head_dim, c.rope.rotary_dim) : RowOrder();
  };
  to.q_norm = numbers(from.q_norm, in_halves(std::ssize(from.q_norm)));
  to.k_norm = numbers(from.k_norm, in_halves(std::ssize(from.k_norm)));
  to.query_weight = numbers(from.query_weight);
  to.sinks = numbers(from.sinks);
  if (c.output_gate) {
    copy_gated_queries(from, adapters, to);
  } else {
    to.q = weight(from.q, adapters.q, from.q_bias, in_halves(from.q.rows()));
  }
  if (from.k.data != nullptr) {
    to.k = weight(from.k, adapters.k, from.k_bias, in_halves(from.k.rows()));
  }
  if (from.v.data != nullptr) to.v = weight(from.v, adapters.v, from.v_bias);
  to.output = weight(from.output, adapters.output, from.output_bias,
                     part_ == nullptr ? Columns{} : part_->of_output);
}

void DeviceModel::copy_feed_forward(const LayerWeights& from, const LayerAdapters& adapters,
                                    DeviceLayer& to) {
  if (from.has_network()) {
    const size_t layer = layers_.size() - 1;  // the layer that is being copied
    if (from.gate.data != nullptr) to.gate = weight(from.gate, adapters.gate);
    to.up = weight(from.up, adapters.up);
    to.down = weight(from.down, adapters.down, {},
                     part_ == nullptr ? Columns{} : part_->of_network.at(layer));
  }
  if (from.shared_gate.data != nullptr) to.shared_gate = weight(from.shared_gate, {});
  if (from.experts.empty()) return;
  const Columns of_down = part_ == nullptr ? Columns{} : part_->of_down;
  to.router = weight(from.router, {}, from.router_bias);
  to.choice_bias = numbers(from.choice_bias);
  if (from.experts.front().gate.data != nullptr) {
    to.experts_gate = experts(from.experts, &ExpertWeights::gate, &ExpertWeights::gate_bias);
  }
  to.experts_up = experts(from.experts, &ExpertWeights::up, &ExpertWeights::up_bias);
  to.experts_down = experts(from.experts, &ExpertWeights::down, &ExpertWeights::down_bias, of_down);
}

DeviceModel::DeviceModel(const Model& whole, const Queue& queue,
                         std::shared_ptr<const DeviceModel> base)
    : base_(std::move(base)),
      part_((refuse_host_parts(whole), queue.ranks() == 1)
                ? nullptr
                : std::make_unique<const ModelPart>(part_of(whole, queue.rank(), queue.ranks()))),
      model_(part_ == nullptr ? whole : part_->model),
      queue_(queue) {
  static const LayerAdapters kNone;
  const Model& model = model_;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LayerWeights& from = model.layers[i];
    const LayerAdapters& adapters = model.adapters.empty() ? kNone : model.adapters[i];
    DeviceLayer& layer = layers_.emplace_back();
    for (const RowNorm norm : kRowNorms) {
      nth(layer.norms, static_cast<int>(norm)) = numbers(norm_of(from, norm));
    }
    copy_attention(from, adapters, layer);
    copy_feed_forward(from, adapters, layer);
    copy_apart(from, layer);
  }
  copy_layer_inputs();
  embedding_ = weight(model.embedding, {}).matrix;
  if (queue.rank() > 0) return;  // only rank 0 computes logits
  final_norm_ = numbers(model.final_norm);
  const bool tied = model.head.data == model.embedding.data;
  head_.matrix = tied ? embedding_ : weight(model.head, {}).matrix;
  head_.adapter = adapter(model.head_adapter);
}

ModelShape DeviceModel::shape() const {
  ModelShape shape = model_.shape;
  for (int layer = 0; layer < static_cast<int>(shape.sinks.size()); ++layer) {
    nth(shape.sinks, layer) = nth(layers_, layer).sinks.view();
  }
  for (int layer = 0; layer < static_cast<int>(shape.query_weights.size()); ++layer) {
    nth(shape.query_weights, layer) = nth(layers_, layer).query_weight.view();
  }
  return shape;
}

}  // namespace longhaul
