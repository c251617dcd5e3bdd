#pragma once
// DeltaLayer computes the gated delta net of a layer on the host. Such a layer has a gated delta
// net instead of attention.

#include "base/buffer.h"
#include "model/model.h"
#include "ops/delta/delta_mix.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class DeltaLayer {
 public:
  /// Computes the matrix products of the normalised rows of all sequences. `adapters` may be null.
  void project(LinearInput& input, const LayerWeights& w, const LayerAdapters* adapters,
               const DeltaShape& shape, Compute compute);
  /// Computes `rows` rows, which are the rows of all tasks. Writes out [rows, values], the input of
  /// the output matrix.
  void mix(const LayerWeights& w, const ModelConfig& c, int64_t rows,
           std::span<const DeltaTask> tasks, View<float> out);

  /// Returns the bytes of memory per row.
  static size_t row_bytes(const DeltaShape& shape);

 private:
  void unweave(const DeltaShape& shape, int64_t rows);
  void unweave_shares(const DeltaShape& shape, int64_t rows);

  Buffer<float> product_, shares_;  // [rows, ...], in the file's order, interleaved by key heads
  Buffer<float> qkv_, z_, b_, a_;   // [rows, channels], [rows, values], [rows, value_heads]
  Buffer<float> convolved_;         // [rows of one sequence, channels]
};

}  // namespace longhaul
