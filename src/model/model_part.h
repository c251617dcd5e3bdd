#pragma once
// The part of a model that one of several devices has (tensor parallelism: Shoeybi et al. 2019,
// arXiv:1909.08053): KV heads with the query heads that read them, and neighbouring columns of the
// feed-forward network. What a member's output and down projections give is added up over all.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/model.h"

namespace longhaul {

/// Columns [begin, begin + count) of a matrix; none: all of them.
struct Columns {
  int64_t begin = 0, count = 0;
  bool all() const { return count == 0; }
};

/// The model with this member's heads and columns. Its matrices are rows of the whole model's;
/// `output` and `down` are the whole model's own, of which it has columns. Biases that are added
/// once are the first member's.
struct ModelPart {
  Model model;
  Columns of_output, of_down;
};

/// Throws UserError where the model cannot be dealt to so many. `model` must outlive the part.
ModelPart part_of(const Model& model, int member, int members);

/// Columns of a matrix one row after the other, packed. They begin and end with blocks.
std::vector<std::byte> packed(const TensorView& matrix, const Columns& columns);

}  // namespace longhaul
