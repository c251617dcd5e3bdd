#pragma once
// FrozenLayer computes one decoder layer with frozen weights over a whole text, forward and
// backward. The layer is divided into the part before attention and the part after it. The caller
// computes attention between the two parts.

#include <memory>

#include "training/frozen_weights.h"
#include "training/text_attention.h"

namespace longhaul {

/// RoPE rotations for positions 0, 1, .... Gradients are rotated by backward(), in the opposite
/// direction. If the RoPE table has an attention factor, both rotations include it.
class TextRotations {
 public:
  void fill(Queue& queue, const RopeTable& table, int64_t tokens);
  const Rotations& forward() const { return forward_.view(); }
  const Rotations& backward() const { return backward_.view(); }

 private:
  RotationBuffer forward_, backward_;
};

/// Values of a layer's forward pass that the backward pass needs. All are packed and have `rows`
/// rows.
struct LayerTrace {
  Array<float> q, k, v;  ///< inputs of attention; queries and keys are rotated
  /// Queries and keys before the norm of each head; empty if the model has no such norm.
  Array<float> raw_q, raw_k;
  Array<float> middle;    ///< [rows, hidden]: residual stream after attention
  Array<float> gate, up;  ///< [rows, ffn]

  AttentionRows attention() const { return {q.view(), k.view(), v.view()}; }
};

class FrozenLayer {
 public:
  explicit FrozenLayer(std::unique_ptr<FrozenWeights> weights) : weights_(std::move(weights)) {}

  FrozenWeights& weights() const { return *weights_; }

  /// Computes q, k and v from x [rows, hidden], the residual stream before the layer.
  void project(int layer, View<const float> x, int64_t rows, const TextRotations& rotations,
               LayerTrace& trace);
  /// Computes `middle`, gate and up. `mixed` is the output of attention, [rows, heads * head_dim].
  void mix(int layer, View<const float> x, View<const float> mixed, int64_t rows,
           LayerTrace& trace);
  /// Computes y [rows, hidden], the residual stream after the layer, from gate, up and `middle`.
  void feed(int layer, int64_t rows, LayerTrace& trace, View<float> y);

  /// Computes the backward pass of mix() and feed(). On input, d [rows, hidden] is the gradient
  /// with respect to y. On return, d is the gradient with respect to `middle`, and d_mixed is the
  /// gradient with respect to `mixed`. Overwrites gate and up.
  void mix_backward(int layer, int64_t rows, LayerTrace& trace, View<float> d, View<float> d_mixed);
  /// Computes the backward pass of project(). dq, dk and dv are the gradients with respect to q, k
  /// and v, and are overwritten. Adds the gradient that reaches x through q, k and v to d.
  void project_backward(int layer, View<const float> x, int64_t rows,
                        const TextRotations& rotations, const LayerTrace& trace, View<float> dq,
                        View<float> dk, View<float> dv, View<float> d);

 private:
  using Matrix = FrozenWeights::Matrix;
  /// Computes dx = dy W, or adds dy W to dx if `add` is true.
  void pass_back(int layer, Matrix matrix, View<const float> dy, int64_t rows, bool add,
                 View<float> dx);

  std::unique_ptr<FrozenWeights> weights_;
  Array<float> normed_, inner_;  // gradients with respect to the inputs of matrices
};

}  // namespace longhaul
