#pragma once
// One decoder layer with frozen weights over a whole text: forward as in model/decoder.h, and
// backward. Attention itself runs between the two halves.

#include <memory>

#include "training/frozen_weights.h"
#include "training/text_attention.h"

namespace longhaul {

/// Rotations for positions 0, 1, ... and for their gradients, which rotate in the opposite
/// direction. An attention factor scales both.
class TextRotations {
 public:
  void fill(Queue& queue, const RopeTable& table, int64_t tokens);
  const Rotations& forward() const { return forward_.view(); }
  const Rotations& backward() const { return backward_.view(); }

 private:
  RotationBuffer forward_, backward_;
};

/// Values of a layer's forward pass that its gradient needs. All are packed and have `rows` rows.
struct LayerTrace {
  Array<float> q, k, v;       ///< inputs of attention; queries and keys are rotated
  Array<float> raw_q, raw_k;  ///< before the norm of each head, if the model has one
  Array<float> middle;        ///< [rows, hidden]: residual stream between the two halves
  Array<float> gate, up;      ///< [rows, ffn]

  AttentionRows attention() const { return {q.view(), k.view(), v.view()}; }
};

class FrozenLayer {
 public:
  explicit FrozenLayer(std::unique_ptr<FrozenWeights> weights) : weights_(std::move(weights)) {}

  FrozenWeights& weights() const { return *weights_; }

  /// Fills q, k, v from x [rows, hidden], the residual stream before the layer.
  void project(int layer, View<const float> x, int64_t rows, const TextRotations& rotations,
               LayerTrace& trace);
  /// Computes `middle`, gate and up from x and attention's output `mixed` [rows, heads * head_dim].
  void mix(int layer, View<const float> x, View<const float> mixed, int64_t rows,
           LayerTrace& trace);
  /// Computes y [rows, hidden], the residual stream after the layer.
  void feed(int layer, int64_t rows, LayerTrace& trace, View<float> y);

  /// Turns d [rows, hidden] from the gradient with respect to y into that with respect to `middle`,
  /// and fills d_mixed, the gradient of attention's output. Overwrites gate and up.
  void mix_backward(int layer, int64_t rows, LayerTrace& trace, View<float> d, View<float> d_mixed);
  /// Adds to d the gradient that flows through attention's input, given the gradients of q, k and v
  /// (overwritten).
  void project_backward(int layer, View<const float> x, int64_t rows,
                        const TextRotations& rotations, const LayerTrace& trace, View<float> dq,
                        View<float> dk, View<float> dv, View<float> d);

 private:
  using Matrix = FrozenWeights::Matrix;
  void pass_back(int layer, Matrix matrix, View<const float> dy, int64_t rows, bool add,
                 View<float> dx);

  std::unique_ptr<FrozenWeights> weights_;
  Array<float> normed_, inner_;  // gradients of matrix inputs
};

}  // namespace longhaul
