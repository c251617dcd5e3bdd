#pragma once
// FrozenDecoder computes a decoder with frozen weights over a whole text, forward and backward. It
// stores the residual stream before every layer, and the intermediate values of one layer. The
// backward pass recomputes each layer (Chen et al. 2016, arXiv:1604.06174).

#include <span>
#include <vector>

#include "training/frozen_layer.h"

namespace longhaul {

/// Gradients with respect to q, k and v, the inputs of attention. They have the shapes of q, k and
/// v.
struct AttentionRowGradients {
  View<float> q, k, v;
};

/// Computes the attention of every layer, in the forward pass and in the backward pass.
class AttentionRule {
 public:
  virtual ~AttentionRule() = default;
  /// Computes the output of attention, mixed [rows, heads * head_dim].
  virtual void forward(int layer, const AttentionRows& rows, View<float> mixed) = 0;
  /// Adds the gradients with respect to the rows to `d`. d_mixed is the gradient with respect to
  /// `mixed`. The preceding call must be forward() for the same layer and rows.
  virtual void backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                        const AttentionRowGradients& d) = 0;
};

class FrozenDecoder {
 public:
  /// Creates a decoder on the host. `model` must outlive it. Throws UserError if the model needs
  /// operations beyond those of llama, qwen and phi3 (ModelConfig::beyond_plain).
  FrozenDecoder(const Model& model, Compute compute);
  /// Creates a decoder on the device that holds the weights. All views then refer to the memory of
  /// the device.
  explicit FrozenDecoder(const std::shared_ptr<const DeviceModel>& model);

  /// Returns the bytes of device memory, without the weights, for a forward and backward pass over
  /// `tokens` tokens with gated attention. If `keep` is true, they include the full attention
  /// outputs of all layers (FullAttention).
  static size_t device_bytes(const Model& model, int64_t tokens, bool keep);

  /// Returns the queue on which the decoder computes.
  Queue& queue() const { return layer_.weights().queue(); }
  /// Processes a whole text at positions 0, 1, .... Returns the hidden states after the last layer,
  /// [tokens, hidden]. They are valid until the next call. If `keep` is true, stores what
  /// backward() needs.
  View<const float> forward(std::span<const int32_t> tokens, AttentionRule& attention, bool keep);
  /// Computes the backward pass of the last forward() with `keep`. On input, d [tokens, hidden] is
  /// the gradient with respect to the hidden states that forward() returned. On return, it is the
  /// gradient with respect to the embedded tokens. `attention` receives the gradients of every
  /// layer.
  void backward(AttentionRule& attention, View<float> d);

  /// final_norm() computes normed = final_norm(hidden) for some rows. final_norm_backward()
  /// computes d_hidden from d_normed. Both run on the host, on copies of the rows, because losses
  /// use only few rows of a text.
  void final_norm(View<const float> hidden, int64_t rows, float* normed) const;
  void final_norm_backward(View<const float> hidden, const float* d_normed, int64_t rows,
                           View<float> d_hidden) const;

  /// Returns the attention shape of a layer for the current text: causal, and limited to the
  /// layer's sliding window if it has one.
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
  // Residual stream before every layer and after the last one; without `keep` only one of them.
  std::vector<Array<float>> inputs_;
  Array<float> mixed_, dq_, dk_, dv_;
};

}  // namespace longhaul
