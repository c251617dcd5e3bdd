#pragma once
// The embeddings that each layer adds to the residual stream (Gemma 4; Gemma 3n, Google 2025). The
// layer's input is (E[token] sqrt(width) + norm(P x / sqrt(hidden))) / sqrt(2), with the embedded
// token x and a part of the tables E and P for each layer. The layer adds
// norm(W (gelu(G y) * input)) to its output y.

#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class LayerInputs {
 public:
  /// Computes the inputs of all layers from the embedded tokens [rows, hidden].
  void begin(const Model& model, std::span<const int32_t> tokens, const float* embedded,
             RowKind kind, Compute compute);
  /// Moves a row's input of a layer to the place of another row.
  void move(int layer, int64_t from, int64_t to);
  /// Adds a layer's input to its first `rows` rows of the stream [rows, hidden].
  void add(const Model& model, int layer, int64_t rows, RowKind kind, Compute compute,
           float* stream);
  /// Bytes for a row.
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
