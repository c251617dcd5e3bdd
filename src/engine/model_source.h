#pragma once
// ModelSource names the files of a model: its weights, and LoRA adapters for them.

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

struct AdapterSource {
  std::filesystem::path path;  ///< a GGUF file or a PEFT folder
  /// Factor by which the adapter's change of the weights is multiplied; 1: as it was trained.
  double weight = 1;
};

struct ModelSource {
  std::filesystem::path path;  ///< path of the weights: a GGUF file or a Hugging Face folder
  std::vector<AdapterSource> adapters;
  /// Folder with method profiles (attention/profile.h). If it is empty, profiles are beside the
  /// weights.
  std::filesystem::path profiles;
  /// Note that is shown to users with the model's replies. If it is empty, the note in config.json
  /// is used.
  std::string note;
};

}  // namespace longhaul
