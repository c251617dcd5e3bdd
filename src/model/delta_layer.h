#pragma once
// The gated delta nets of a decoder on the host, in the place of attention.

#include "base/buffer.h"
#include "model/model.h"
#include "ops/delta/delta_mix.h"
#include "ops/matmul/linear.h"

namespace longhaul {

class DeltaLayer {
 public:
  /// Multiplies the normalised rows of all sequences. `adapters` may be null.
  void project(LinearInput& input, const LayerWeights& w, const LayerAdapters* adapters,
               const DeltaShape& shape, Compute compute);
  /// Computes those `rows` rows and writes `out` [rows, values], the input of the output matrix.
  void mix(const LayerWeights& w, const ModelConfig& c, int64_t rows,
           std::span<const DeltaTask> tasks, View<float> out);

  /// Bytes of a row.
  static size_t row_bytes(const DeltaShape& shape);

 private:
  void unweave(const DeltaShape& shape, int64_t rows);
  void unweave_shares(const DeltaShape& shape, int64_t rows);

  Buffer<float> product_, shares_;  // [rows, ...], woven by key heads
  Buffer<float> qkv_, z_, b_, a_;   // [rows, channels], [rows, values], [rows, value_heads]
  Buffer<float> convolved_;         // [rows of one sequence, channels]
};

}  // namespace longhaul
