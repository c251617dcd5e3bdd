#pragma once
// RecurrentLayer computes Mamba-2 parts and gated short convolutions on the host. Both consist of
// an input matrix, a recurrence with a state of fixed size, and an output matrix.

#include <span>

#include "base/buffer.h"
#include "model/model.h"
#include "ops/matmul/linear.h"
#include "ops/ssm/recurrent_task.h"

namespace longhaul {

class RecurrentLayer {
 public:
  /// Multiplies the layer's input, the normalised rows of all sequences, by the input matrix.
  /// `adapter` may be null.
  void project(LinearInput& input, const LayerWeights& w, const LowRank* adapter, Compute compute);
  /// Computes the recurrence for the rows of all tasks, and updates their states. Writes the input
  /// of the output matrix to out [rows, recurrent_width()].
  void mix(const LayerWeights& w, const ModelConfig& c, std::span<const RecurrentTask> tasks,
           View<float> out);

  /// Returns the size in bytes of the buffers and of `out` per row.
  static size_t row_bytes(const ModelConfig& c);

 private:
  Buffer<float> projected_;  // [rows, outputs of the input matrix]
  Buffer<float> scratch_;    // memory for the rows of one sequence
};

}  // namespace longhaul
