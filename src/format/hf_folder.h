#pragma once
// Finds and reads the files of a Hugging Face folder.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace longhaul {

/// The JSON files of a Hugging Face folder. config.json always exists; any other missing document
/// is null. tokenizer.json is large and is parsed by the tokenizer, so `tokenizer_json` is only its
/// path, or empty if it is absent.
struct HfDocuments {
  std::filesystem::path folder;
  nlohmann::json config;
  nlohmann::json generation_config;
  nlohmann::json tokenizer_config;
  std::filesystem::path tokenizer_json;
};

/// Reads the documents of a folder. Throws UserError if config.json is missing or a document is not
/// a JSON object.
HfDocuments read_hf_documents(const std::filesystem::path& folder);

struct SafetensorsFiles {
  std::vector<std::filesystem::path> shards;
  /// Names of tensors and the indices of their shards, from the index. It is empty if the folder
  /// has no index.
  std::vector<std::pair<std::string, size_t>> weight_map;
};

/// Finds the files. `path` is the folder, or one .safetensors file in it. A file that the index
/// does not list is used alone. Throws UserError if the index is malformed, or if it names files
/// that are missing or outside of the folder.
SafetensorsFiles find_safetensors(const std::filesystem::path& path);

}  // namespace longhaul
