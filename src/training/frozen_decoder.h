#pragma once
// A decoder with frozen weights over a whole text, forward and backward. Memory holds the residual
// stream before every layer and one layer's intermediates. The backward pass recomputes each layer
// (Chen et al. 2016, arXiv:1604.06174).

#include <span>
#include <vector>

#include "training/frozen_layer.h"

namespace longhaul {

/// Gradients with respect to the input rows of attention, in their shapes.
struct AttentionRowGradients {
  View<float> q, k, v;
};

/// Attention of every layer in such a pass.
class AttentionRule {
 public:
  virtual ~AttentionRule() = default;
  /// Computes mixed [rows, heads * head_dim] from the layer's rows.
  virtual void forward(int layer, const AttentionRows& rows, View<float> mixed) = 0;
  /// Adds gradients to `d`, given d_mixed. forward() for the same layer and rows was the preceding
  /// call.
  virtual void backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                        const AttentionRowGradients& d) = 0;
};

class FrozenDecoder {
 public:
  /// `model` must outlive it. Throws UserError if the model needs more operations than llama, qwen
  /// and phi3 do (ModelConfig::beyond_plain).
  FrozenDecoder(const Model& model, Compute compute);
  /// Constructor for the device that holds the weights. All views then refer to its memory.
  explicit FrozenDecoder(const std::shared_ptr<const DeviceModel>& model);

  /// Returns the bytes of device memory for a forward and backward pass over `tokens` tokens with
  /// gated attention, without the weights. With `keep` they include the outputs of every layer's
  /// full attention.
  static size_t device_bytes(const Model& model, int64_t tokens, bool keep);

  /// The queue on which it computes.
  Queue& queue() const { return layer_.weights().queue(); }
  /// Reads a whole text at positions 0, 1, .... Returns the hidden states after the last layer,
  /// [tokens, hidden], valid until the next call. `keep` prepares a backward pass.
  View<const float> forward(std::span<const int32_t> tokens, AttentionRule& attention, bool keep);
  /// Backward pass of the last forward() with `keep`. On input d [tokens, hidden] is the gradient
  /// with respect to the returned states, on output that with respect to the embeddings. The rule
  /// receives every layer's gradient.
  void backward(AttentionRule& attention, View<float> d);

  /// normed = final_norm(hidden) for some rows, and its backward pass: d_hidden from d_normed. Both
  /// run on the host, with copies of a device's rows, because only few rows of a text are compared.
  void final_norm(View<const float> hidden, int64_t rows, float* normed) const;
  void final_norm_backward(View<const float> hidden, const float* d_normed, int64_t rows,
                           View<float> d_hidden) const;

  /// The attention shape of a layer for the current text: causal, within the model's own window.
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
  std::vector<Array<float>> inputs_;  // input of every layer and the last output; or only the first
  Array<float> mixed_, dq_, dk_, dv_;
};

}  // namespace longhaul
