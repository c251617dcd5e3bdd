#pragma once
// The part of a model on one of several devices (tensor parallelism: Shoeybi et al. 2019,
// arXiv:1909.08053): KV heads with their query heads, and a contiguous range of columns of the
// feed-forward network. Outputs of the output and down projections are all-reduced.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/model.h"

namespace longhaul {

/// Columns [begin, begin + count) of a matrix; count 0 means all.
struct Columns {
  int64_t begin = 0, count = 0;
  bool all() const { return count == 0; }
};

/// The model with the heads and columns of one rank. Its matrices are row ranges of the matrices of
/// the whole model. `output` and `down` are whole matrices, of which the rank uses columns. Only
/// the first rank has the biases of `output` and `down`, so that they are added once.
struct ModelPart {
  Model model;
  Columns of_output, of_down;       ///< of_down: of the experts, if the model has experts
  std::vector<Columns> of_network;  ///< per layer: of the feed-forward network that all rows use
};

/// Returns the part of rank `rank`. Throws UserError if the model cannot be divided among so many
/// devices. `model` must outlive the part.
ModelPart part_of(const Model& model, int rank, int ranks);

/// Copies the columns of a matrix, row by row, without gaps. They must begin and end at block
/// boundaries.
std::vector<std::byte> packed(const TensorView& matrix, const Columns& columns);

}  // namespace longhaul
