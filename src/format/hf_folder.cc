#include "format/hf_folder.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "text/json_file.h"
#include "text/printable.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

nlohmann::json read_if_there(const fs::path& path) {
  return is_there(path) ? read_json_file(path) : nlohmann::json();
}

/// The index maps tensors to files in its folder; shards are sorted by name.
SafetensorsFiles read_index(const fs::path& index) {
  const nlohmann::json document = read_json_file(index);
  const auto map = document.find("weight_map");
  if (map == document.end() || !map->is_object() || map->empty()) {
    user_error("{}: has no weight_map", index.string());
  }
  std::map<std::string, size_t> shard_numbers;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string()) {
      user_error("{}: weight_map of {} is no file name", index.string(), printable(tensor));
    }
    const auto& name = file.get_ref<const std::string&>();
    if (name.empty() || name.find('/') != std::string::npos || name == ".." ||
        name.find('\0') != std::string::npos) {
      user_error("{}: weight_map of {} names {}, which is no file of this folder", index.string(),
                 printable(tensor), printable(name));
    }
    shard_numbers.emplace(name, 0);
  }
  SafetensorsFiles files;
  for (auto& [name, number] : shard_numbers) {
    number = files.shards.size();
    files.shards.push_back(index.parent_path() / name);
    if (!is_file(files.shards.back())) {
      user_error("{}: shard is missing ({} names it)", files.shards.back().string(),
                 index.filename().string());
    }
  }
  for (const auto& [tensor, file] : map->items()) {
    files.weight_map.emplace_back(tensor, shard_numbers.at(file.get_ref<const std::string&>()));
  }
  return files;
}

bool names(const SafetensorsFiles& files, const fs::path& file) {
  for (const fs::path& shard : files.shards) {
    if (shard.filename() == file.filename()) return true;
  }
  return false;
}

}  // namespace

HfDocuments read_hf_documents(const fs::path& folder) {
  const fs::path config = folder / "config.json";
  if (!is_there(config)) {
    user_error("{}: no config.json: neither a Hugging Face folder nor a .gguf file",
               folder.string());
  }
  HfDocuments documents;
  documents.folder = folder;
  documents.config = read_python_json_file(config);
  documents.generation_config = read_if_there(folder / "generation_config.json");
  documents.tokenizer_config = read_if_there(folder / "tokenizer_config.json");
  const fs::path tokenizer = folder / "tokenizer.json";
  if (is_there(tokenizer)) documents.tokenizer_json = tokenizer;
  return documents;
}

SafetensorsFiles find_safetensors(const fs::path& path) {
  const bool whole_folder = is_folder(path);
  const fs::path folder = whole_folder ? path : path.parent_path();
  const fs::path single = folder / "model.safetensors";
  const fs::path index = folder / "model.safetensors.index.json";
  if (whole_folder && is_there(single)) return {{single}, {}};
  if (is_there(index)) {
    SafetensorsFiles files = read_index(index);
    if (whole_folder || names(files, path)) return files;
  }
  if (whole_folder) {
    user_error("{}: has neither model.safetensors nor model.safetensors.index.json",
               folder.string());
  }
  return {{path}, {}};
}

}  // namespace longhaul
