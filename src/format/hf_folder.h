#pragma once
// Which files of a Hugging Face folder hold the model.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace longhaul {

/// The JSON files of a Hugging Face folder. A document that the folder lacks is null; config.json
/// is always there. tokenizer.json is large and is parsed by the tokenizer: `tokenizer_json` is its
/// path, empty when absent.
struct HfDocuments {
  std::filesystem::path folder;
  nlohmann::json config;
  nlohmann::json generation_config;
  nlohmann::json tokenizer_config;
  std::filesystem::path tokenizer_json;
};

/// Throws UserError when config.json is missing or a document is no JSON object.
HfDocuments read_hf_documents(const std::filesystem::path& folder);

struct SafetensorsFiles {
  std::vector<std::filesystem::path> shards;
  /// Tensor and the position of its shard, from the index; empty when the folder has none.
  std::vector<std::pair<std::string, size_t>> weight_map;
};

/// `path` is the folder, or one .safetensors file in it: a file that the index does not name is
/// taken alone. Throws UserError for an index that is malformed or names files outside the folder
/// or missing ones.
SafetensorsFiles find_safetensors(const std::filesystem::path& path);

}  // namespace longhaul
