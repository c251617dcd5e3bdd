#pragma once
// A model that consists of another model and adapters: a folder with model.json, such as
//   {"base": "smollm2", "adapters": [{"file": "lora.gguf", "weight": 1}]}

#include <filesystem>
#include <string>
#include <vector>

#include "engine/model_source.h"

namespace longhaul {

struct ModelRecipe {
  std::string base;  ///< the name of another model
  std::vector<AdapterSource> adapters;
};

bool is_recipe(const std::filesystem::path& folder);

/// Throws UserError naming file and key.
ModelRecipe read_recipe(const std::filesystem::path& folder);

}  // namespace longhaul
