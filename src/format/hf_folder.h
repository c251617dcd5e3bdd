#pragma once
// Files of a Hugging Face folder that contain the model.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace longhaul {

/// The JSON files of a Hugging Face folder. A missing document is null; config.json always exists.
/// tokenizer.json is large, and the tokenizer parses it: `tokenizer_json` is its path, empty if
/// absent.
struct HfDocuments {
  std::filesystem::path folder;
  nlohmann::json config;
  nlohmann::json generation_config;
  nlohmann::json tokenizer_config;
  std::filesystem::path tokenizer_json;
};

/// Throws UserError if config.json is missing or a document is not a JSON object.
HfDocuments read_hf_documents(const std::filesystem::path& folder);

struct SafetensorsFiles {
  std::vector<std::filesystem::path> shards;
  /// Tensors and the positions of their shards, from the index; empty if the folder has none.
  std::vector<std::pair<std::string, size_t>> weight_map;
};

/// `path` is the folder, or one .safetensors file in it. A file that the index does not list is
/// used alone. Throws UserError for an index that is malformed, or that names missing files or
/// files outside the folder.
SafetensorsFiles find_safetensors(const std::filesystem::path& path);

}  // namespace longhaul
