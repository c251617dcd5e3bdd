#pragma once
// ModelPart is the part of a model that one of several devices computes (tensor parallelism:
// Shoeybi et al. 2019, arXiv:1909.08053). Each device (rank) has some KV heads with their query
// heads, and a contiguous range of the intermediate elements of the feed-forward network. The
// outputs of the `output` and `down` matrices are summed over all devices by an all-reduce.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/model.h"

namespace longhaul {

/// Columns [begin, begin + count) of a matrix. count = 0 means all columns.
struct Columns {
  int64_t begin = 0, count = 0;
  bool all() const { return count == 0; }
};

/// The part of one rank. Its matrices are ranges of rows of the whole model's matrices. Only
/// `output` and `down` are whole matrices, of which the rank uses a range of columns. Only rank 0
/// has the biases of `output` and `down`, so that they are added once.
struct ModelPart {
  Model model;
  /// of_output: columns of `output`. of_down: columns of `down`, or of each expert's down matrix.
  Columns of_output, of_down;
  /// Per layer: columns of the matrix `down` in the feed-forward network that all rows use.
  std::vector<Columns> of_network;
};

/// Returns the part of `rank`. Throws UserError if the model cannot be divided among `ranks`
/// devices. `model` must outlive the result.
ModelPart part_of(const Model& model, int rank, int ranks);

/// Returns a copy of a range of columns of a matrix, row by row without gaps. The range must begin
/// and end at boundaries of quantization blocks.
std::vector<std::byte> packed(const TensorView& matrix, const Columns& columns);

}  // namespace longhaul
