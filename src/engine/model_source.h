#pragma once
// The files of a model: weights, and adapters beside them.

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

struct AdapterSource {
  std::filesystem::path path;  ///< a GGUF file or a PEFT folder
  double weight = 1;           ///< weight of the adapter; 1: as it was trained
};

struct ModelSource {
  std::filesystem::path path;  ///< path of the weights: a GGUF file or a Hugging Face folder
  std::vector<AdapterSource> adapters;
  std::filesystem::path profiles;  ///< folder with the profiles of methods; empty: beside the path
  std::string note;  ///< note for readers of its replies; empty: the note in its config.json
};

}  // namespace longhaul
