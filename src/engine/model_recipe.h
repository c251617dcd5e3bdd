#pragma once
// Reads models that consist of another model and adapters. Such a model is a folder with a file
// model.json, for example
// {"base": "smollm2", "adapters": [{"file": "lora.gguf", "weight": 1}]}

#include <filesystem>
#include <string>
#include <vector>

#include "engine/model_source.h"

namespace longhaul {

struct ModelRecipe {
  std::string base;  ///< name of the model to which the adapters are applied
  std::vector<AdapterSource> adapters;
};

/// Returns whether a folder contains such a model.
bool is_recipe(const std::filesystem::path& folder);

/// Reads model.json in the folder. Throws UserError that names the file and the key.
ModelRecipe read_recipe(const std::filesystem::path& folder);

}  // namespace longhaul
