#pragma once
// Attaches adapters to a model's matrices. The matrices in the mapped file do not change.

#include <span>

#include "model/lora_file.h"
#include "model/model.h"

namespace longhaul {

/// An adapter and its weight; 1 is the weight of training.
struct WeightedLora {
  LoraFile file;
  double weight = 1;
};

/// Attaches the adapters to `model`. Factors that can be used as stored are views of the adapters'
/// files, which must outlive the model. If an adapter specifies RoPE angles or a trained context,
/// the model uses them. Throws UserError naming file and tensor if an adapter belongs to another
/// family, changes a matrix that the model does not have or that cannot have an adapter, or has a
/// wrong shape, or if two adapters specify different angles.
void attach_adapters(std::span<const WeightedLora> adapters, Model& model);

}  // namespace longhaul
