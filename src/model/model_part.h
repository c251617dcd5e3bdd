#pragma once
// ModelPart is the part of a model that one of several devices computes (tensor parallelism:
// Shoeybi et al. 2019, arXiv:1909.08053). The part contains some KV heads with their query heads,
// and a contiguous range of columns of the feed-forward network. The results of the `output` and
// `down` matrices are summed over all devices by an all-reduce.

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

/// The model with the heads and columns of one rank. Its matrices are row ranges of the matrices of
/// the whole model. `output` and `down` are whole matrices, of which the rank uses only some
/// columns. Only rank 0 has the biases of `output` and `down`, so that they are added once.
struct ModelPart {
  Model model;
  Columns of_output, of_down;  ///< columns of `output`, and of `down` or the experts' down matrices
  /// Per layer: columns of `down` of the network that all rows use.
  std::vector<Columns> of_network;
};

/// Returns the part of `rank`. Throws UserError if the model cannot be divided among `ranks`
/// devices. `model` must outlive the result.
ModelPart part_of(const Model& model, int rank, int ranks);

/// Returns a copy of some columns of a matrix, row by row without gaps. The columns must begin and
/// end at block boundaries.
std::vector<std::byte> packed(const TensorView& matrix, const Columns& columns);

}  // namespace longhaul
