#pragma once
// LayerInputs computes the embeddings that each layer adds to the residual stream (Gemma 4; Gemma
// 3n, Google 2025). A layer's input is (E[token] sqrt(width) + norm(P x / sqrt(hidden))) / sqrt(2).
// x is the embedded token, and E and P are the parts of two tables that belong to the layer. The
// layer adds norm(W (gelu(G y) * input)) to its output y.

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class LayerInputs {
 public:
  /// Computes the inputs of all layers. `embedded` [rows, hidden] holds the embedded tokens.
  void begin(const Model& model, std::span<const int32_t> tokens, const float* embedded,
             RowKind kind, Compute compute);
  /// Moves a layer's input of row `from` to row `to`.
  void move(int layer, int64_t from, int64_t to);
  /// Adds the layer's embedding to the first `rows` rows of the residual stream [rows, hidden].
  void add(const Model& model, int layer, int64_t rows, RowKind kind, Compute compute,
           float* stream);
  /// Returns the bytes of memory per row.
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
