#pragma once
// A decoder over a whole text, forward and backward, its weights as they are. Memory is the
// residual stream before every layer and one layer's intermediates: the backward pass computes each
// layer's again (Chen et al. 2016, arXiv:1604.06174).

#include <span>
#include <vector>

#include "training/frozen_layer.h"

namespace longhaul {

/// Gradients with respect to the rows that attention reads, in their shapes.
struct AttentionRowGradients {
  View<float> q, k, v;
};

/// Attention of every layer of such a pass.
class AttentionRule {
 public:
  virtual ~AttentionRule() = default;
  /// mixed [rows, heads * head_dim] from the layer's rows.
  virtual void forward(int layer, const AttentionRows& rows, View<float> mixed) = 0;
  /// From d_mixed adds to what `d` holds. forward() of the same layer and rows came just before.
  virtual void backward(int layer, const AttentionRows& rows, View<const float> d_mixed,
                        const AttentionRowGradients& d) = 0;
};

class FrozenDecoder {
 public:
  /// `model` must outlive it. UserError where it computes more than llama, qwen and phi3 do
  /// (ModelConfig::beyond_plain).
  FrozenDecoder(const Model& model, Compute compute);
  /// The same on the device that holds the weights. All views are then of its memory.
  explicit FrozenDecoder(const std::shared_ptr<const DeviceModel>& model);

  /// Bytes of a device's memory that a text of `tokens` tokens takes forward and backward through
  /// gated attention, beside the weights. `keep`: with the outputs of every layer's full attention.
  static size_t device_bytes(const Model& model, int64_t tokens, bool keep);

  /// Where it works.
  Queue& queue() const { return layer_.weights().queue(); }
  /// Reads a whole text at positions 0, 1, .... Returns the hidden states behind the last layer,
  /// [tokens, hidden], valid until the next call. `keep`: for a backward pass.
  View<const float> forward(std::span<const int32_t> tokens, AttentionRule& attention, bool keep);
  /// Of the text that forward() kept last: d [tokens, hidden], the gradient with respect to what it
  /// returned, becomes that with respect to the embeddings; the rule sees every layer's.
  void backward(AttentionRule& attention, View<float> d);

  /// normed = final_norm(hidden) of some rows, and the way back: d_hidden from d_normed. The host
  /// does it, of a device's rows on copies: of a whole text few are compared.
  void final_norm(View<const float> hidden, int64_t rows, float* normed) const;
  void final_norm_backward(View<const float> hidden, const float* d_normed, int64_t rows,
                           View<float> d_hidden) const;

  /// The shape of a layer's attention for the text that is being read: causal, within the model's
  /// own window.
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
  std::vector<Array<float>> inputs_;  // of every layer, then the last one's output; or the first
  Array<float> mixed_, dq_, dk_, dv_;
};

}  // namespace longhaul
