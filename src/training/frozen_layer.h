#pragma once
// One decoder layer over a whole text, forward as model/decoder.h does it and backward through its
// weights, which stay as they are. Attention itself is between the two halves.

#include "base/buffer.h"
#include "model/model.h"
#include "ops/linear.h"
#include "ops/transposed_weight.h"
#include "training/text_attention.h"

namespace longhaul {

/// What a layer's forward pass leaves for its gradient. All packed, `rows` of the text.
struct LayerTrace {
  Buffer<float> q, k, v;       ///< as attention reads them, queries and keys rotated
  Buffer<float> raw_q, raw_k;  ///< before the norm of each head, where the model has one
  Buffer<float> middle;        ///< [rows, hidden] the residual stream between the two halves
  Buffer<float> gate, up;      ///< [rows, ffn]

  AttentionRows attention() const { return {q.data(), k.data(), v.data()}; }
};

class FrozenLayer {
 public:
  /// `model` must outlive it; positions are 0, 1, ..., rotated by `rotations`.
  FrozenLayer(const Model& model, Compute compute) : model_(model), compute_(compute) {}

  /// x [rows, hidden], the residual stream before the layer: fills q, k, v.
  void project(int layer, const float* x, int64_t rows, const Rotations& rotations,
               LayerTrace& trace);
  /// Attention's output `mixed` [rows, heads * head_dim] and x make `middle`, gate and up.
  void mix(int layer, const float* x, const float* mixed, int64_t rows, LayerTrace& trace);
  /// y [rows, hidden]: the residual stream behind the layer.
  void feed(int layer, int64_t rows, LayerTrace& trace, float* y);

  /// d [rows, hidden], the gradient with respect to y, becomes that with respect to `middle`;
  /// d_mixed gets that of attention's output. Overwrites gate and up.
  void mix_backward(int layer, int64_t rows, LayerTrace& trace, float* d, float* d_mixed);
  /// From those of q, k and v (overwritten), what comes through attention's input is added to d.
  void project_backward(int layer, const float* x, int64_t rows, const Rotations& rotations,
                        const LayerTrace& trace, float* dq, float* dk, float* dv, float* d);

 private:
  const LowRank* beside(int layer, LowRank LayerAdapters::*matrix) const;
  void normalise(const float* x, const std::vector<float>& weight, int64_t rows);
  void head_norm(const std::vector<float>& weight, int64_t rows, int heads, Buffer<float>& raw,
                 Buffer<float>& x) const;
  void pass_back(const TensorView& weight, const LowRank* beside, const float* dy, int64_t rows,
                 bool add, float* dx);

  const Model& model_;
  Compute compute_;
  Buffer<float> normed_, inner_, turned_back_;
  LinearInput input_;
  TransposedWeight transposed_;
};

/// The rotations that undo these but for the attention factor, which scales both ways: what the
/// gradient of apply_rope() is. `sines` holds their numbers.
Rotations backward_rotations(const Rotations& rotations, Buffer<float>& sines);

}  // namespace longhaul
