#pragma once
// Multi-head latent attention on the host (DeepSeek-V2, arXiv:2405.04434, section 2.1), with
// absorbed products: queries are multiplied by the key matrix of their head, and outputs by the
// value matrix, so that attention reads latent vectors. A row of keys is its rotated part, then its
// latent vector.

#include <cstdint>

#include "base/buffer.h"
#include "model/model.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class LatentLayer {
 public:
  /// Computes queries [rows, heads, rope + rank] and keys [rows, rope + rank], not rotated, from
  /// the layer's input.
  void project(LinearInput& input, const LayerWeights& w, const ModelConfig& c, int64_t rows,
               Compute compute, float* q, float* k);
  /// Computes the heads' outputs [rows, heads * value] from attention's [rows, heads, rope + rank].
  const float* values(const LayerWeights& w, const ModelConfig& c, int64_t rows, RowKind kind,
                      Compute compute, const float* mixed);
  /// Bytes for a row.
  static size_t row_bytes(const ModelConfig& c);

 private:
  /// A product of each head's numbers with the head's own rows of a matrix. Rows of x and y are
  /// `heads` times as far apart as heads.
  struct OfHeads {
    const float* x;
    int64_t x_width, inputs;  ///< floats from head to head, and those that are read
    const TensorView& weight;
    int64_t first, stride, outputs;  ///< rows of the matrix of the first head, and their distance
    float* y;
    int64_t y_width;
  };
  void multiply(const OfHeads& job, int heads, int64_t rows, RowKind kind, Compute compute);
  void multiply_row(const OfHeads& job, int heads, int64_t row);

  LinearInput low_, of_head_;
  ActivationRows activations_;
  std::vector<MatvecJob> jobs_;
  Buffer<float> queries_, low_queries_, latent_;  // [rows, ..]: of heads, of a query, of a key
  Buffer<float> packed_, product_, outputs_;
};

}  // namespace longhaul
