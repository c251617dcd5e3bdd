#pragma once
// Loads experts whose matrices Hugging Face folders store in another form than products read them:
// transposed (gpt-oss and Llama 4), or in MXFP4 with blocks and scales apart (gpt-oss).

#include <string>
#include <vector>

#include "base/buffer.h"
#include "model/config.h"
#include "model/model.h"
#include "model/tensor_finder.h"
#include "model/tensor_names.h"

namespace longhaul {

/// Loads the matrices, and for families with biases the biases, of a layer's experts. The order of
/// the stored rows is ModelConfig::expert_order. The matrices are copies in `memory`, because other
/// code reads the inputs of an output as neighbours.
void load_turned_experts(const TensorNames& names, const ModelConfig& c, int layer,
                         TensorFinder& tensors, std::vector<Buffer<std::byte>>& memory,
                         LayerWeights& w);

}  // namespace longhaul
