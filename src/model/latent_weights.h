#pragma once
// Finds the matrices of multi-head latent attention in a checkpoint.

#include <vector>

#include "model/model.h"
#include "model/tensor_finder.h"
#include "model/tensor_names.h"

namespace longhaul {

/// Sets the matrices of a layer in `w`. Absorbed queries are multiplied by the transposed key
/// matrices (latent_layer.h). GGUF files contain the transposed matrices. The matrices of Hugging
/// Face folders are transposed here and stored in `turned`.
void load_latent(const Checkpoint& checkpoint, const TensorNames& names, const ModelConfig& c,
                 int layer, TensorFinder& tensors, std::vector<Buffer<std::byte>>& turned,
                 LayerWeights& w);

}  // namespace longhaul
