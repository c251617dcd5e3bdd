#pragma once
// Describes the files of a model: weights, and adapters beside them.

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

struct AdapterSource {
  std::filesystem::path path;  ///< a GGUF file or a PEFT folder
  double weight = 1;           ///< factor of the adapter; 1: as it was trained
};

struct ModelSource {
  std::filesystem::path path;  ///< path of the weights: a GGUF file or a Hugging Face folder
  std::vector<AdapterSource> adapters;
  /// Folder with method profiles (attention/profile.h); empty: beside the weights.
  std::filesystem::path profiles;
  /// Note for the readers of the model's replies; empty: the note in config.json.
  std::string note;
};

}  // namespace longhaul
