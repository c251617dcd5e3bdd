#pragma once
// Finds the matrices of multi-head latent attention in a checkpoint.

#include <vector>

#include "model/model.h"
#include "model/tensor_finder.h"
#include "model/tensor_names.h"

namespace longhaul {

/// Sets the matrices of a layer. Hugging Face folders store the key matrices by rows of outputs.
/// They are transposed and stored in `turned`, because absorbed queries multiply them in the other
/// direction.
void load_latent(const Checkpoint& checkpoint, const TensorNames& names, const ModelConfig& c,
                 int layer, TensorFinder& tensors, std::vector<Buffer<std::byte>>& turned,
                 LayerWeights& w);

}  // namespace longhaul
