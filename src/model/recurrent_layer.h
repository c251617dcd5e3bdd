#pragma once
// RecurrentLayer computes Mamba-2 layers and gated short convolutions on the host. Both have one
// input matrix and one output matrix, and keep a state between them.

#include <span>

#include "base/buffer.h"
#include "model/model.h"
#include "ops/matmul/linear.h"
#include "ops/ssm/recurrent_task.h"

namespace longhaul {

class RecurrentLayer {
 public:
  /// Multiplies the normalised rows of all sequences by the input matrix. `adapter` may be null.
  void project(LinearInput& input, const LayerWeights& w, const LowRank* adapter, Compute compute);
  /// Computes the rows of all tasks. Writes out [rows, recurrent_width()], the input of the output
  /// matrix.
  void mix(const LayerWeights& w, const ModelConfig& c, std::span<const RecurrentTask> tasks,
           View<float> out);

  /// Returns the bytes of memory per row, with the output.
  static size_t row_bytes(const ModelConfig& c);

 private:
  Buffer<float> projected_;  // [rows, outputs of the input matrix]
  Buffer<float> scratch_;    // rows of one sequence
};

}  // namespace longhaul
