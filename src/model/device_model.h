#pragma once
// DeviceModel holds the weights of a model in device memory. If several devices share the model,
// each has a DeviceModel with its part of the weights (model_part.h).

#include <array>
#include <compare>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/nth.h"
#include "model/model_part.h"
#include "model/row_order.h"
#include "ops/core/device_ops.h"
#include "ops/matmul/head_products.h"

namespace longhaul {

/// A LoRA adapter of one matrix: y += (x a^T) b^T. `a` is already multiplied by the adapter's
/// scale. Both pointers are null if there is no adapter.
struct DeviceAdapter {
  std::shared_ptr<const DeviceMatrix> a, b;
};

/// A weight matrix with its bias and adapter.
struct DeviceWeight {
  std::shared_ptr<const DeviceMatrix> matrix;
  Array<float> bias;  ///< [outputs]; empty: no bias
  DeviceAdapter adapter;
  bool is_matrix_alone() const { return bias.view().empty() && adapter.a == nullptr; }
};

/// The weights of a gated delta net. If the file stores several matrices as one with interleaved
/// rows, they are separated here.
struct DeviceDelta {
  DeviceWeight in, z, b, a;  ///< LayerWeights: delta_in, delta_z, delta_b and delta_a
  Array<float> convolution, dt_bias, rate, norm;
};

/// The weights of a Mamba-2 layer or of a gated short convolution.
struct DeviceRecurrent {
  DeviceWeight in;     ///< recurrent_in of LayerWeights, without the rows of time steps
  DeviceWeight steps;  ///< the rows of time steps
  DeviceWeight output;
  Array<float> convolution, convolution_bias, dt_bias, rate, skip, norm;
};

/// One matrix per head, [heads, outputs, inputs], in F32 or BF16 (ops/matmul/head_products.h).
struct DeviceHeads {
  Array<std::byte> numbers;
  HeadMatrices shape;  ///< sizes and type; the view in `shape` is empty
  HeadMatrices view() const {
    HeadMatrices all = shape;
    all.numbers = numbers.view();
    return all;
  }
};

/// The weights of a layer. The two rows of Q and K that RoPE rotates as a pair are always half the
/// rotary width apart, also if they are adjacent in the file (model/row_order.h). An array is empty
/// if the model does not have the weight.
struct DeviceLayer {
  std::array<Array<float>, std::size(kRowNorms)> norms;  ///< [hidden] each, indexed by RowNorm
  Array<float> q_norm, k_norm;  ///< [head_dim], or for all heads together (QkNorm)
  Array<float> query_weight;    ///< [head_dim]
  Array<float> sinks;           ///< [heads]
  DeviceWeight q, k, v, output;
  DeviceWeight gate, up, down;
  /// Matrices of all experts, concatenated by rows.
  DeviceWeight experts_gate, experts_up, experts_down;
  DeviceWeight router;       ///< [experts, hidden]
  DeviceWeight q_gate;       ///< rows of Q that compute gates for the output of attention
  DeviceWeight shared_gate;  ///< gate of the shared expert
  DeviceDelta delta;
  DeviceRecurrent recurrent;
  Array<float> choice_bias;  ///< bias of the experts' scores
  // The following weights exist only if the experts and the shared expert have norms of their own
  // (ModelConfig::experts_apart).
  Array<float> network_after_norm, experts_norm, experts_after_norm, router_norm, expert_scales;
  // Weights of multi-head latent attention. If queries are computed from a latent vector, q_down
  // computes this vector and `q` the queries.
  DeviceWeight q_down, kv_down;
  Array<float> q_down_norm, kv_down_norm;
  std::shared_ptr<const DeviceHeads> k_up, v_up;
  // Weights of the embedding that the layer adds (ModelConfig::layer_input).
  DeviceWeight input_gate, input_output;
  Array<float> input_norm;

  const Array<float>& norm(RowNorm which) const { return nth(norms, static_cast<int>(which)); }
};

class DeviceModel {
 public:
  /// Copies the weights to the device. Throws UserError if the device has too little memory or does
  /// not support a type. `model` must outlive this object. If `base` is not null, it must be the
  /// same model with other adapters on the same device. Matrices that are equal in both are then
  /// shared.
  DeviceModel(const Model& model, const Queue& queue,
              std::shared_ptr<const DeviceModel> base = nullptr);

  /// Returns the host's model, or the part of it that this device computes if several devices share
  /// the model.
  const Model& model() const { return model_; }
  const Queue& queue() const { return queue_; }
  /// Returns the shape of model() with views of vectors in device memory.
  ModelShape shape() const;
  size_t bytes() const { return bytes_; }
  /// Returns the size in bytes of the weights that are not shared with `base`.
  size_t own_bytes() const { return bytes_ - shared_bytes_; }

  const DeviceMatrix& embedding() const { return *embedding_; }
  /// Returns the matrix that computes the logits. It is valid only in rank 0.
  const DeviceWeight& head() const { return head_; }
  const Array<float>& final_norm() const { return final_norm_; }
  const DeviceLayer& layer(int number) const { return nth(layers_, number); }
  /// The following functions return the weights of per-layer embeddings (Model,
  /// ModelConfig::layer_input).
  const DeviceMatrix& layer_embedding() const { return *layer_embedding_; }
  const DeviceWeight& layer_projection() const { return layer_projection_; }
  const Array<float>& layer_projection_norm() const { return layer_projection_norm_; }
  /// Returns [head_dim] ones, which are used as the weight of norms without a weight.
  const Array<float>& ones() const { return ones_; }

 private:
  void copy_attention(const LayerWeights& from, const LayerAdapters& adapters, DeviceLayer& to);
  void copy_gated_queries(const LayerWeights& from, const LayerAdapters& adapters, DeviceLayer& to);
  void copy_delta(const LayerWeights& from, const LayerAdapters& adapters, DeviceLayer& to);
  void copy_recurrent(const LayerWeights& from, const LayerAdapters& adapters, DeviceLayer& to);
  void copy_feed_forward(const LayerWeights& from, const LayerAdapters& adapters, DeviceLayer& to);
  void copy_latent(const LayerWeights& from, const LayerAdapters& adapters, DeviceLayer& to);
  void copy_apart(const LayerWeights& from, DeviceLayer& to);
  void copy_layer_inputs();
  std::shared_ptr<const DeviceHeads> heads(const TensorView& rows, int64_t first, int64_t stride,
                                           int64_t outputs);
  /// Identifies the host memory from which a device copy was made, by the data of the first matrix,
  /// the number of copied rows, and the row or column at which the copied part begins.
  struct Source {
    const void* data = nullptr;
    int64_t rows = 0, begin = 0;
    auto operator<=>(const Source&) const = default;
  };
  using Copy = std::function<std::shared_ptr<const DeviceMatrix>()>;
  /// Returns the copy of `source` that base_ has. If there is none, returns the result of copy().
  std::shared_ptr<const DeviceMatrix> once(const Source& source, const Copy& copy);
  /// Copies several matrices into one, whose rows are those of all matrices in order.
  std::shared_ptr<const DeviceMatrix> matrix(std::span<const TensorView> weights);
  /// Copies a matrix with its rows in the order `order`, or in the file's order if `order` is
  /// empty.
  std::shared_ptr<const DeviceMatrix> matrix(const TensorView& weight, const RowOrder& order = {});
  /// Copies the columns `columns` of several matrices into one, whose rows are those of all
  /// matrices in order.
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

  std::shared_ptr<const DeviceModel> base_;  ///< null: all weights are copied from the host
  std::map<Source, std::shared_ptr<const DeviceMatrix>> copies_;
  std::unique_ptr<const ModelPart> part_;  ///< null: this device computes the whole model
  const Model& model_;
  Queue queue_;
  std::shared_ptr<const DeviceMatrix> embedding_;
  DeviceWeight head_;
  Array<float> final_norm_;
  std::vector<DeviceLayer> layers_;
  std::shared_ptr<const DeviceMatrix> layer_embedding_;
  DeviceWeight layer_projection_;
  Array<float> layer_projection_norm_, ones_;
  size_t bytes_ = 0, shared_bytes_ = 0;
};

}  // namespace longhaul
