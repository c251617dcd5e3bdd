#pragma once
// LatentLayer computes multi-head latent attention on the host (DeepSeek-V2, arXiv:2405.04434,
// section 2.1), with absorbed matrices: the query of each head is multiplied by the head's key
// matrix, and the output of attention by the head's value matrix. Attention therefore uses the
// latent vectors directly as keys and values. The key of a token consists of the elements that RoPE
// rotates, followed by the latent vector.

#include <cstdint>

#include "base/buffer.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class LatentLayer {
 public:
  /// Computes queries [rows, heads, rope + rank] and keys [rows, rope + rank] from the input of the
  /// layer, before rotation by RoPE.
  void project(LinearInput& input, const LayerWeights& w, const ModelConfig& c, int64_t rows,
               Compute compute, float* q, float* k);
  /// Multiplies the result of attention `mixed` [rows, heads, rope + rank] by the value matrices.
  /// Returns the outputs of the heads, [rows, heads * value].
  const float* values(const LayerWeights& w, const ModelConfig& c, int64_t rows, RowKind kind,
                      Compute compute, const float* mixed);
  /// Returns the size in bytes of the buffers per row.
  static size_t row_bytes(const ModelConfig& c);

 private:
  /// A multiplication of each head's elements by the matrix rows that belong to the head. Rows of x
  /// are heads * x_width floats apart, and rows of y heads * y_width floats.
  struct OfHeads {
    const float* x;
    /// x_width: distance between the heads of x in floats. inputs: number of floats of a head that
    /// are multiplied.
    int64_t x_width, inputs;
    const TensorView& weight;
    /// first: first matrix row of head 0. stride: number of matrix rows from one head to the next.
    /// outputs: number of matrix rows that are used per head.
    int64_t first, stride, outputs;
    float* y;
    int64_t y_width;
  };
  void multiply(const OfHeads& job, int heads, int64_t rows, RowKind kind, Compute compute);
  void multiply_row(const OfHeads& job, int heads, int64_t row);

  LinearInput low_, of_head_;
  ActivationRows activations_;
  std::vector<MatvecJob> jobs_;
  // [rows, ...]: queries_ holds the query heads, low_queries_ the latent vectors of queries, and
  // latent_ the latent vectors of keys.
  Buffer<float> queries_, low_queries_, latent_;
  Buffer<float> packed_, product_, outputs_;
};

}  // namespace longhaul
