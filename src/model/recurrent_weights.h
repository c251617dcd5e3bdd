#pragma once
// Finds the weights of Mamba-2 parts and gated short convolutions in a checkpoint.

#include "model/model.h"
#include "model/tensor_finder.h"
#include "model/tensor_names.h"

namespace longhaul {

/// Sets the weights of a layer's recurrent part in `w`.
void load_recurrent(CheckpointFormat format, const TensorNames& names, const ModelConfig& c,
                    int layer, TensorFinder& tensors, LayerWeights& w);

/// Returns the weights of a convolution as [kernel, channels]. The stored tensor has the order
/// [channels, kernel] and may have further dimensions of size 1.
std::vector<float> convolution_weights(const std::string& tensor, int64_t kernel, int64_t channels,
                                       TensorFinder& tensors);

}  // namespace longhaul
