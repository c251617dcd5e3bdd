#pragma once
// Finds the matrices of latent attention.

#include <vector>

#include "model/model.h"
#include "model/tensor_finder.h"
#include "model/tensor_names.h"

namespace longhaul {

/// Sets the matrices of a layer. A folder's keys are stored as rows of outputs; they are turned
/// into `turned`, because absorbed queries read them the other way.
void load_latent(const Checkpoint& checkpoint, const TensorNames& names, const ModelConfig& c,
                 int layer, TensorFinder& tensors, std::vector<Buffer<std::byte>>& turned,
                 LayerWeights& w);

}  // namespace longhaul
