#pragma once
// Finds and reads the files of a Hugging Face folder.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace longhaul {

/// The JSON files of a Hugging Face folder. config.json always exists. A missing document is null.
/// tokenizer.json is not read here, because it is large and src/tokenizer parses it.
/// `tokenizer_json` is the path of this file, or empty if the file is missing.
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
  /// For each tensor in model.safetensors.index.json, its name and the index of its file in
  /// `shards`. Empty if the folder has no such file.
  std::vector<std::pair<std::string, size_t>> weight_map;
};

/// Finds the safetensors files of a folder. `path` is the folder, or one .safetensors file in it.
/// If `path` is a file that the index does not list, the result is only this file. Throws UserError
/// if the index is malformed, or if it names files that are missing or outside of the folder.
SafetensorsFiles find_safetensors(const std::filesystem::path& path);

}  // namespace longhaul
