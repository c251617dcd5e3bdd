#pragma once
// Attaches adapters to the matrices of a model. The matrices in the mapped file do not change.

#include <span>

#include "model/lora_file.h"
#include "model/model.h"

namespace longhaul {

/// An adapter, and a factor for its product. With 1, the effect is as it was trained.
struct WeightedLora {
  LoraFile file;
  double weight = 1;
};

/// Attaches the adapters to `model`. Factors that can be used as stored are views of the adapters'
/// files, so the files must outlive the model. If an adapter specifies a RoPE base or a trained
/// context, the model uses it. Throws UserError that names the file and the tensor in these cases:
/// an adapter belongs to another family; it changes a matrix that the model does not have or that
/// cannot have an adapter; it has a wrong shape; two adapters specify different RoPE bases.
void attach_adapters(std::span<const WeightedLora> adapters, Model& model);

/// Returns the bytes of the adapters' factors that are not used as stored.
size_t converted_bytes(const Model& model);

}  // namespace longhaul
