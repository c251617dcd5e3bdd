#pragma once
// LayerInputs computes per-layer embeddings, which each layer adds to the residual stream (Gemma 4;
// Gemma 3n, Google 2025). `hidden` is the width of the residual stream, and `width` is the width of
// a per-layer embedding (ModelConfig::layer_input). The per-layer embedding e [width] of a token is
// computed from the token's id and its ordinary embedding x [hidden]:
//
//   e = (sqrt(width) * E[token] + norm(P x / sqrt(hidden))) / sqrt(2)
//
// Each layer has its own table E, and its own matrices P, G and W. It adds norm(W (gelu(G y) * e))
// to its output y [hidden], where * multiplies element by element.

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class LayerInputs {
 public:
  /// Computes e for all layers and tokens. `embedded` [rows, hidden] holds x of every token.
  void begin(const Model& model, std::span<const int32_t> tokens, const float* embedded,
             RowKind kind, Compute compute);
  /// Moves e of a layer from row `from` to row `to`.
  void move(int layer, int64_t from, int64_t to);
  /// Adds norm(W (gelu(G y) * e)) to the first `rows` rows of the residual stream [rows, hidden].
  void add(const Model& model, int layer, int64_t rows, RowKind kind, Compute compute,
           float* stream);
  /// Returns the size in bytes of the buffers per row.
  static size_t row_bytes(const ModelConfig& c);

 private:
  float* of(int layer) { return inputs_.data() + layer * rows_ * width_; }

  int64_t rows_ = 0, width_ = 0;
  LinearInput input_, inner_;
  Buffer<float> inputs_;         // [layers, rows, width]
  Buffer<float> projected_;      // [rows, layers, width]
  Buffer<float> gates_, added_;  // [rows, width], [rows, hidden]
};

}  // namespace longhaul
