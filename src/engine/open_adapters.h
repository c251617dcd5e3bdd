#pragma once

#include <vector>

#include "engine/model_source.h"
#include "model/lora.h"

namespace longhaul {

/// Opens LoRA adapters with their weights. Throws UserError if LoraFile::open() does.
inline std::vector<WeightedLora> open_adapters(const std::vector<AdapterSource>& sources) {
  std::vector<WeightedLora> adapters;
  for (const AdapterSource& s : sources) adapters.push_back({LoraFile::open(s.path), s.weight});
  return adapters;
}

}  // namespace longhaul
