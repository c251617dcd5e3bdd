#pragma once
// Adapters put beside a model's matrices. The matrices stay in their mapped file as they are.

#include <span>

#include "model/lora_file.h"
#include "model/model.h"

namespace longhaul {

/// An adapter, and how much of it: 1 is what it was trained for.
struct WeightedLora {
  LoraFile file;
  double weight = 1;
};

/// Factors that can be used as stored are views of the files, which must outlive the model. Angles
/// and trained context follow the adapters that name them. Throws UserError naming file and tensor:
/// another family, a matrix that the model does not have or that no adapter can stand beside, a
/// wrong shape, two adapters that name different angles.
void attach_adapters(std::span<const WeightedLora> adapters, Model& model);

}  // namespace longhaul
