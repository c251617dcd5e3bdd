#pragma once
// Loads experts whose matrices must be converted, because Hugging Face folders store them
// transposed (gpt-oss and Llama 4), or in MXFP4 with blocks and scales in separate tensors
// (gpt-oss).

#include <string>
#include <vector>

#include "base/buffer.h"
#include "model/config.h"
#include "model/model.h"
#include "model/tensor_finder.h"
#include "model/tensor_names.h"

namespace longhaul {

/// Loads the matrices of a layer's experts, and their biases if the family has them.
/// ModelConfig::expert_order is the form of the stored matrices. The converted matrices are stored
/// in `memory`.
void load_turned_experts(const TensorNames& names, const ModelConfig& c, int layer,
                         TensorFinder& tensors, std::vector<Buffer<std::byte>>& memory,
                         LayerWeights& w);

}  // namespace longhaul
