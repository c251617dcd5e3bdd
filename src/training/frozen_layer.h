#pragma once
// FrozenLayer computes one layer of a model over a whole text, forward and backward, without
// gradients of the weights. It computes the operations before attention (project()) and those after
// it (mix() and feed()). The caller computes attention between project() and mix().

#include <memory>

#include "training/frozen_weights.h"
#include "training/text_attention.h"

namespace longhaul {

/// RoPE rotations for the positions 0, 1, and so on. forward() rotates queries and keys, and
/// backward() rotates their gradients in the opposite direction. If the RoPE table has an attention
/// factor, both rotations multiply by this factor.
class TextRotations {
 public:
  void fill(Queue& queue, const RopeTable& table, int64_t tokens);
  const Rotations& forward() const { return forward_.view(); }
  const Rotations& backward() const { return backward_.view(); }

 private:
  RotationBuffer forward_, backward_;
};

/// Intermediate results of a layer's forward pass that the backward pass needs. Each array has one
/// row per token, without gaps.
struct LayerTrace {
  Array<float> q, k, v;  ///< inputs of attention; q and k are rotated by RoPE
  /// q and k before the norm of each head. Empty if the model has no such norm.
  Array<float> raw_q, raw_k;
  /// [rows, hidden]: residual stream after attention, before the feed-forward network.
  Array<float> middle;
  Array<float> gate, up;  ///< [rows, ffn]

  AttentionRows attention() const { return {q.view(), k.view(), v.view()}; }
};

class FrozenLayer {
 public:
  explicit FrozenLayer(std::unique_ptr<FrozenWeights> weights) : weights_(std::move(weights)) {}

  FrozenWeights& weights() const { return *weights_; }

  /// Computes q, k and v of the trace from x [rows, hidden], the residual stream before the layer.
  void project(int layer, View<const float> x, int64_t rows, const TextRotations& rotations,
               LayerTrace& trace);
  /// Computes `middle`, `gate` and `up` of the trace. `mixed` is the output of attention, [rows,
  /// heads * head_dim].
  void mix(int layer, View<const float> x, View<const float> mixed, int64_t rows,
           LayerTrace& trace);
  /// Computes y [rows, hidden], the residual stream after the layer, from `middle`, `gate` and
  /// `up`.
  void feed(int layer, int64_t rows, LayerTrace& trace, View<float> y);

  /// Computes the backward pass of feed() and mix(). On input, `d` [rows, hidden] is the gradient
  /// with respect to y. On return, `d` is the gradient with respect to `middle`, and `d_mixed` is
  /// the gradient with respect to `mixed`. Overwrites `gate` and `up` of the trace.
  void mix_backward(int layer, int64_t rows, LayerTrace& trace, View<float> d, View<float> d_mixed);
  /// Computes the backward pass of project(). `dq`, `dk` and `dv` are the gradients with respect to
  /// q, k and v; they are overwritten. On input, `d` is the gradient with respect to `middle`. On
  /// return, it is the gradient with respect to x: the residual connection passes the gradient of
  /// `middle` to x unchanged, and project() contributes the rest.
  void project_backward(int layer, View<const float> x, int64_t rows,
                        const TextRotations& rotations, const LayerTrace& trace, View<float> dq,
                        View<float> dk, View<float> dv, View<float> d);

 private:
  using Matrix = FrozenWeights::Matrix;
  /// Computes dx = dy W for the weight matrix W, or adds dy W to dx if `add` is true.
  void pass_back(int layer, Matrix matrix, View<const float> dy, int64_t rows, bool add,
                 View<float> dx);

  std::unique_ptr<FrozenWeights> weights_;
  Array<float> normed_, inner_;  // gradients with respect to the inputs of matrix multiplications
};

}  // namespace longhaul
