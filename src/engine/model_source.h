#pragma once
// What a model is made of: weights, and adapters beside them.

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

struct AdapterSource {
  std::filesystem::path path;  ///< a GGUF file or a PEFT folder
  double weight = 1;           ///< 1: as it was trained
};

struct ModelSource {
  std::filesystem::path path;  ///< of the weights: a GGUF file or a Hugging Face folder
  std::vector<AdapterSource> adapters;
  std::filesystem::path profiles;  ///< a folder with its methods' profiles; empty: beside the path
  std::string
      note;  ///< what whoever reads its replies should know; empty: what its config.json says
};

}  // namespace longhaul
