#pragma once
// Finds the weights of Mamba-2 layers and of gated short convolutions in a checkpoint.

#include "model/model.h"
#include "model/tensor_finder.h"
#include "model/tensor_names.h"

namespace longhaul {

/// Sets the weights of the recurrent part of a layer.
void load_recurrent(CheckpointFormat format, const TensorNames& names, const ModelConfig& c,
                    int layer, TensorFinder& tensors, LayerWeights& w);

/// Returns the weights of a convolution as [kernel, channels]. The file has [channels, kernel], in
/// a tensor of any rank.
std::vector<float> convolution_weights(const std::string& tensor, int64_t kernel, int64_t channels,
                                       TensorFinder& tensors);

}  // namespace longhaul
