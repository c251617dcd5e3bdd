#pragma once
// LatentLayer computes multi-head latent attention on the host (DeepSeek-V2, arXiv:2405.04434,
// section 2.1), with absorbed matrices. Queries are multiplied by the key matrix of their head, and
// outputs by the value matrix. Attention therefore reads the latent vectors directly. A row of keys
// consists of its rotated part, followed by its latent vector.

#include <cstdint>

#include "base/buffer.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class LatentLayer {
 public:
  /// Computes queries [rows, heads, rope + rank] and keys [rows, rope + rank] from the input of the
  /// layer. They are not rotated yet.
  void project(LinearInput& input, const LayerWeights& w, const ModelConfig& c, int64_t rows,
               Compute compute, float* q, float* k);
  /// Returns the outputs of the heads, [rows, heads * value]. `mixed` is the result of attention,
  /// [rows, heads, rope + rank].
  const float* values(const LayerWeights& w, const ModelConfig& c, int64_t rows, RowKind kind,
                      Compute compute, const float* mixed);
  /// Returns the bytes of memory per row.
  static size_t row_bytes(const ModelConfig& c);

 private:
  /// Multiplies the elements of each head by rows of a matrix that belong to the head. In x and y,
  /// the distance between adjacent rows is `heads` times that between adjacent heads.
  struct OfHeads {
    const float* x;
    /// Distance between heads in floats, and number of floats that are read per head.
    int64_t x_width, inputs;
    const TensorView& weight;
    /// First matrix row of head 0, distance between heads in rows, and rows per head.
    int64_t first, stride, outputs;
    float* y;
    int64_t y_width;
  };
  void multiply(const OfHeads& job, int heads, int64_t rows, RowKind kind, Compute compute);
  void multiply_row(const OfHeads& job, int heads, int64_t row);

  LinearInput low_, of_head_;
  ActivationRows activations_;
  std::vector<MatvecJob> jobs_;
  // [rows, ...]: query heads, latent vectors of queries, latent vectors of keys.
  Buffer<float> queries_, low_queries_, latent_;
  Buffer<float> packed_, product_, outputs_;
};

}  // namespace longhaul
