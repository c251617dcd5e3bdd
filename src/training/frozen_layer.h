#pragma once
// One decoder layer over a whole text, forward as model/decoder.h does it and backward through its
// weights, which stay as they are. Attention itself is between the two halves.

#include <memory>

#include "training/frozen_weights.h"
#include "training/text_attention.h"

namespace longhaul {

/// The rotations of positions 0, 1, ... and those of their gradients, which turn the other way; an
/// attention factor scales both.
class TextRotations {
 public:
  void fill(Queue& queue, const RopeTable& table, int64_t tokens);
  const Rotations& forward() const { return forward_.view(); }
  const Rotations& backward() const { return backward_.view(); }

 private:
  RotationBuffer forward_, backward_;
};

/// What a layer's forward pass leaves for its gradient. All packed, `rows` of the text.
struct LayerTrace {
  Array<float> q, k, v;       ///< as attention reads them, queries and keys rotated
  Array<float> raw_q, raw_k;  ///< before the norm of each head, where the model has one
  Array<float> middle;        ///< [rows, hidden] the residual stream between the two halves
  Array<float> gate, up;      ///< [rows, ffn]

  AttentionRows attention() const { return {q.view(), k.view(), v.view()}; }
};

class FrozenLayer {
 public:
  explicit FrozenLayer(std::unique_ptr<FrozenWeights> weights) : weights_(std::move(weights)) {}

  FrozenWeights& weights() const { return *weights_; }

  /// x [rows, hidden], the residual stream before the layer: fills q, k, v.
  void project(int layer, View<const float> x, int64_t rows, const TextRotations& rotations,
               LayerTrace& trace);
  /// Attention's output `mixed` [rows, heads * head_dim] and x make `middle`, gate and up.
  void mix(int layer, View<const float> x, View<const float> mixed, int64_t rows,
           LayerTrace& trace);
  /// y [rows, hidden]: the residual stream behind the layer.
  void feed(int layer, int64_t rows, LayerTrace& trace, View<float> y);

  /// d [rows, hidden], the gradient with respect to y, becomes that with respect to `middle`;
  /// d_mixed gets that of attention's output. Overwrites gate and up.
  void mix_backward(int layer, int64_t rows, LayerTrace& trace, View<float> d, View<float> d_mixed);
  /// From those of q, k and v (overwritten), what comes through attention's input is added to d.
  void project_backward(int layer, View<const float> x, int64_t rows,
                        const TextRotations& rotations, const LayerTrace& trace, View<float> dq,
                        View<float> dk, View<float> dv, View<float> d);

 private:
  using Matrix = FrozenWeights::Matrix;
  void pass_back(int layer, Matrix matrix, View<const float> dy, int64_t rows, bool add,
                 View<float> dx);

  std::unique_ptr<FrozenWeights> weights_;
  Array<float> normed_, inner_;  // gradients of what matrices read
};

}  // namespace longhaul
