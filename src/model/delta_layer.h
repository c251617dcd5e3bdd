#pragma once
// DeltaLayer computes gated delta nets on the host. A gated delta net replaces the attention of a
// layer and keeps a state of fixed size (ops/delta/delta_shape.h).

#include "base/buffer.h"
#include "model/model.h"
#include "ops/delta/delta_mix.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class DeltaLayer {
 public:
  /// Multiplies the layer's input, the normalised rows of all sequences, by the input matrices.
  /// `adapters` may be null.
  void project(LinearInput& input, const LayerWeights& w, const LayerAdapters* adapters,
               const DeltaShape& shape, Compute compute);
  /// Computes the recurrence for the rows of all tasks, `rows` in total, and updates their states.
  /// Writes the input of the output matrix to out [rows, values].
  void mix(const LayerWeights& w, const ModelConfig& c, int64_t rows,
           std::span<const DeltaTask> tasks, View<float> out);

  /// Returns the size in bytes of the buffers per row.
  static size_t row_bytes(const DeltaShape& shape);

 private:
  void unweave(const DeltaShape& shape, int64_t rows);
  void unweave_shares(const DeltaShape& shape, int64_t rows);

  // Results of input matrices whose rows the file interleaves by key heads: product_ of queries,
  // keys, values and gates [rows, ...], and shares_ of update strengths and decays [rows, 2 *
  // value_heads].
  Buffer<float> product_, shares_;
  // qkv_ is [rows, channels], z_ is [rows, values], and b_ and a_ are [rows, value_heads].
  Buffer<float> qkv_, z_, b_, a_;
  Buffer<float> convolved_;  // [rows of one sequence, channels]
};

}  // namespace longhaul
