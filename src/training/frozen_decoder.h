#pragma once
// FrozenDecoder computes the layers of a model over a whole text, forward and backward. Weights are
// frozen: no gradients with respect to them are computed. The forward pass stores the residual
// stream before every layer. The backward pass computes each layer forward again, so that the
// intermediate results of only one layer are stored (Chen et al. 2016, arXiv:1604.06174).

#include <span>
#include <vector>

#include "training/frozen_layer.h"

namespace longhaul {

/// Gradients with respect to the inputs of attention, q, k and v. They have the same shapes as q, k
/// and v.
struct AttentionRowGradients {
  View<float> q, k, v;
};

/// The interface of the attention that FrozenDecoder uses, in the forward pass and in the backward
/// pass.
class AttentionRule {
 public:
  virtual ~AttentionRule() = default;
  /// Computes the output of attention of a layer, `mixed` [rows, heads * head_dim]. A row is a
  /// token of the text.
  virtual void forward(int layer, const AttentionRows& rows, View<float> mixed) = 0;
  /// Adds the gradients with respect to `rows` to `d`. `d_mixed` is the gradient with respect to
  /// `mixed`. The preceding call must have been forward() with the same layer and rows.
  virtual void backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                        const AttentionRowGradients& d) = 0;
};

class FrozenDecoder {
 public:
  /// Creates a decoder on the host. `model` must outlive it. Throws UserError if the model needs
  /// operations that llama, qwen and phi3 do not need (ModelConfig::beyond_plain).
  FrozenDecoder(const Model& model, Compute compute);
  /// Creates a decoder on the device to which the weights of `model` have been copied. All views
  /// then refer to device memory.
  explicit FrozenDecoder(const std::shared_ptr<const DeviceModel>& model);

  /// Returns the device memory in bytes, without the weights, that a forward and backward pass over
  /// `tokens` tokens with GatedAttention needs. If `keep` is true, the result includes the
  /// attention outputs of all layers, which FullAttention then stores.
  static size_t device_bytes(const Model& model, int64_t tokens, bool keep);

  /// Returns the queue on which the decoder computes.
  Queue& queue() const { return layer_.weights().queue(); }
  /// Processes a whole text, whose tokens have the positions 0, 1, and so on. Returns the hidden
  /// states after the last layer, [tokens, hidden]. They are valid until the next call. If `keep`
  /// is true, stores the residual streams, which backward() needs.
  View<const float> forward(std::span<const int32_t> tokens, AttentionRule& attention, bool keep);
  /// Computes the backward pass of the preceding forward(), whose `keep` must have been true. On
  /// input, `d` [tokens, hidden] is the gradient with respect to the result of forward(). On
  /// return, it is the gradient with respect to the embeddings of the tokens. Calls
  /// attention.backward() for every layer.
  void backward(AttentionRule& attention, View<float> d);

  /// final_norm() applies the norm after the last layer to `rows` rows of hidden states.
  /// final_norm_backward() computes `d_hidden`, the gradient with respect to the input of the norm,
  /// from `d_normed`, the gradient with respect to its output. Both run on the host, on copies of
  /// the rows, because a loss depends on only a few tokens of a text.
  void final_norm(View<const float> hidden, int64_t rows, float* normed) const;
  void final_norm_backward(View<const float> hidden, const float* d_normed, int64_t rows,
                           View<float> d_hidden) const;

  /// Returns the shape of causal attention in a layer over the current text. It includes the
  /// layer's sliding window if the model has one.
  TextAttention causal(int layer) const;
  int64_t tokens() const { return tokens_; }

 private:
  FrozenDecoder(const Model& model, std::unique_ptr<FrozenWeights> weights);

  const Model& model_;
  FrozenLayer layer_;
  LayerTrace trace_;
  TextRotations rotations_;
  int64_t tokens_ = 0;
  bool kept_ = false;
  // Residual streams before every layer and after the last one. Without `keep`, only one is stored.
  std::vector<Array<float>> inputs_;
  Array<float> mixed_, dq_, dk_, dv_;
};

}  // namespace longhaul
