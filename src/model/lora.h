#pragma once
// Attaches LoRA adapters to the matrices of a model. The stored matrices do not change: an adapter
// with the matrices A and B adds weight * scale * B * A * x to the product of a matrix and x.

#include <span>

#include "model/lora_file.h"
#include "model/model.h"

namespace longhaul {

/// An adapter, and a factor of its effect; 1 means the effect that was trained.
struct WeightedLora {
  LoraFile file;
  double weight = 1;
};

/// Attaches the adapters to `model`. The adapters must outlive the model, because it refers to
/// their matrices A and B. If an adapter specifies a RoPE base or a trained context length, it
/// replaces that of the model. Throws a UserError that names the file and the tensor in these
/// cases: an adapter belongs to another model family; it changes a matrix that the model does not
/// have or that cannot have an adapter; A or B has a wrong shape; two adapters specify different
/// RoPE bases.
void attach_adapters(std::span<const WeightedLora> adapters, Model& model);

/// Returns the size in bytes of adapter matrices that were copied because the model cannot use them
/// in their stored form.
size_t converted_bytes(const Model& model);

}  // namespace longhaul
