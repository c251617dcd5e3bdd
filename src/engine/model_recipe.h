#pragma once
// Reads recipes. A recipe describes a model that consists of a base model and LoRA adapters. It is
// a folder with a file model.json, for example:
//
//   {"base": "smollm2", "adapters": [{"file": "lora.gguf", "weight": 1}]}

#include <filesystem>
#include <string>
#include <vector>

#include "engine/model_source.h"

namespace longhaul {

struct ModelRecipe {
  std::string base;  ///< name of the model to which the adapters are applied
  std::vector<AdapterSource> adapters;
};

/// Returns whether the folder contains a recipe.
bool is_recipe(const std::filesystem::path& folder);

/// Reads model.json in the folder. Throws a UserError that names the file and the key if the recipe
/// is invalid.
ModelRecipe read_recipe(const std::filesystem::path& folder);

}  // namespace longhaul
