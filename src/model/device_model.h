#pragma once
// A model's weights in device memory, or this device's part of them in a team.

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/nth.h"
#include "model/model_part.h"
#include "model/row_order.h"
#include "ops/core/device_ops.h"
#include "ops/matmul/head_products.h"

namespace longhaul {

/// A low-rank adapter: y += (x a^T) b^T, with the scales folded into `a`. Null pointers mean no
/// adapter.
struct DeviceAdapter {
  std::shared_ptr<const DeviceMatrix> a, b;
};

/// A matrix with its bias and adapter.
struct DeviceWeight {
  std::shared_ptr<const DeviceMatrix> matrix;
  Array<float> bias;  ///< empty: none
  DeviceAdapter adapter;
  bool is_matrix_alone() const { return bias.view().empty() && adapter.a == nullptr; }
};

/// A gated delta net. Rows that the file weaves are apart.
struct DeviceDelta {
  DeviceWeight in, z, b, a;  ///< as in LayerWeights
  Array<float> convolution, dt_bias, rate, norm;
};

/// Matrices [heads, outputs, inputs] in F32 or BF16 (ops/matmul/head_products.h).
struct DeviceHeads {
  Array<std::byte> numbers;
  HeadMatrices shape;  ///< without the numbers
  HeadMatrices view() const {
    HeadMatrices all = shape;
    all.numbers = numbers.view();
    return all;
  }
};

/// Rows of Q and K are in half order (model/row_order.h), independent of the file. Arrays are empty
/// if the model lacks them.
struct DeviceLayer {
  std::array<Array<float>, std::size(kRowNorms)> norms;  ///< [hidden], by RowNorm
  Array<float> q_norm, k_norm;                           ///< [head_dim], or for all heads
  Array<float> sinks;                                    ///< [heads]
  DeviceWeight q, k, v, output;
  DeviceWeight gate, up, down;
  DeviceWeight experts_gate, experts_up,
      experts_down;          ///< matrices of all experts, concatenated by rows
  DeviceWeight router;       ///< for experts
  DeviceWeight q_gate;       ///< rows of Q that gate the output of attention
  DeviceWeight shared_gate;  ///< gate of the network beside experts
  DeviceDelta delta;
  Array<float> choice_bias;  ///< for the scores of experts
  // Experts apart from the network (ModelConfig::experts_apart).
  Array<float> network_after_norm, experts_norm, experts_after_norm, router_norm, expert_scales;
  // Latent attention; `q` reads the query's latent vector if there is one.
  DeviceWeight q_down, kv_down;
  Array<float> q_down_norm, kv_down_norm;
  DeviceHeads k_up, v_up;
  // The embedding that the layer adds (ModelConfig::layer_input).
  DeviceWeight input_gate, input_output;
  Array<float> input_norm;

  const Array<float>& norm(RowNorm which) const { return nth(norms, static_cast<int>(which)); }
};

class DeviceModel {
 public:
  /// Copies the weights. Throws UserError if the device has too little memory or does not support a
  /// type. `model` must outlive it.
  DeviceModel(const Model& model, const Queue& queue);

  /// The model as computed here, with the heads of this device.
  const Model& model() const { return model_; }
  const Queue& queue() const { return queue_; }
  /// Returns the shape of model(), with the sink logits in the device's memory.
  ModelShape shape() const;
  size_t bytes() const { return bytes_; }

  const DeviceMatrix& embedding() const { return *embedding_; }
  const DeviceWeight& head() const { return head_; }  ///< only on the root device
  const Array<float>& final_norm() const { return final_norm_; }
  const DeviceLayer& layer(int number) const { return nth(layers_, number); }
  /// The embeddings of layers (ModelConfig::layer_input), as in Model.
  const DeviceMatrix& layer_embedding() const { return *layer_embedding_; }
  const DeviceWeight& layer_projection() const { return layer_projection_; }
  const Array<float>& layer_projection_norm() const { return layer_projection_norm_; }
  /// Ones [head_dim], the weight of norms without one.
  const Array<float>& ones() const { return ones_; }

 private:
  void copy_attention(const LayerWeights& from, const LayerAdapters& adapters, DeviceLayer& to);
  void copy_gated_queries(const LayerWeights& from, const LayerAdapters& adapters, DeviceLayer& to);
  void copy_delta(const LayerWeights& from, const LayerAdapters& adapters, DeviceLayer& to);
  void copy_feed_forward(const LayerWeights& from, const LayerAdapters& adapters, DeviceLayer& to);
  void copy_latent(const LayerWeights& from, const LayerAdapters& adapters, DeviceLayer& to);
  void copy_apart(const LayerWeights& from, DeviceLayer& to);
  void copy_layer_inputs();
  DeviceHeads heads(const TensorView& rows, int64_t first, int64_t stride, int64_t outputs);
  /// Concatenates the weights by rows.
  std::shared_ptr<const DeviceMatrix> matrix(std::span<const TensorView> weights);
  /// An empty order keeps the file's order.
  std::shared_ptr<const DeviceMatrix> matrix(const TensorView& weight, const RowOrder& order = {});
  /// Selected columns of matrices, concatenated by rows.
  std::shared_ptr<const DeviceMatrix> matrix(std::span<const TensorView> weights,
                                             const Columns& columns);
  Array<float> numbers(const std::vector<float>& values, const RowOrder& order = {});
  DeviceWeight weight(const TensorView& matrix, const LowRank& adapter,
                      const std::vector<float>& bias = {}, const RowOrder& order = {});
  DeviceWeight weight(const TensorView& matrix, const LowRank& adapter,
                      const std::vector<float>& bias, const Columns& columns);
  DeviceAdapter adapter(const LowRank& adapter, const RowOrder& order = {},
                        const Columns& columns = {});
  DeviceWeight experts(const std::vector<ExpertWeights>& all, TensorView ExpertWeights::*matrix,
                       std::vector<float> ExpertWeights::*bias, const Columns& columns = {});

  std::unique_ptr<const ModelPart> part_;  ///< null: the whole model
  const Model& model_;
  Queue queue_;
  std::shared_ptr<const DeviceMatrix> embedding_;
  DeviceWeight head_;
  Array<float> final_norm_;
  std::vector<DeviceLayer> layers_;
  std::shared_ptr<const DeviceMatrix> layer_embedding_;
  DeviceWeight layer_projection_;
  Array<float> layer_projection_norm_, ones_;
  size_t bytes_ = 0;
};

}  // namespace longhaul
