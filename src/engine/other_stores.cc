#include "engine/other_stores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/paths.h"
#include "base/regular_file.h"
#include "text/json_file.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 6;              // deepest level of folders that is searched
constexpr size_t kMostEntries = 20'000;  // largest number of files that are searched in a store

/// Returns a folder of another program: a subfolder of the folder that the first set variable
/// names, or else a folder in HOME.
fs::path store(std::initializer_list<std::pair<const char*, const char*>> variables,
               const char* in_home) {
  for (const auto& [name, below] : variables) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return fs::path(value) / below;
  }
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == '\0' ? fs::path() : fs::path(home) / in_home;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
    if (entries.size() == kMostEntries) break;
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

/// Returns the files below `folder`, sorted.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  if (folder.empty() || !is_folder(folder)) return files;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  size_t seen = 0;
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    if (++seen > kMostEntries) break;
    if (it.depth() >= kDeepest) it.disable_recursion_pending();
    if (is_file(it->path())) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Returns whether a file is listed as a model. For a model in several files, only the first file
/// is listed. Files with image encoders are not listed.
bool is_model_file(const fs::path& file) {
  const std::string name = file.filename().string();
  if (!name.ends_with(".gguf") || name.find("mmproj") != std::string::npos) return false;
  const size_t of = name.rfind("-of-");
  return of == std::string::npos || of < 6 || name.substr(of - 6, 6) == "-00001";
}

void add_files(const fs::path& folder, std::vector<NamedModel>& models) {
  for (const fs::path& file : files_below(folder)) {
    if (is_model_file(file)) models.push_back({file.stem().string(), file});
  }
}

std::string first_line(const fs::path& file) {
  constexpr size_t kMostBytes = 4096;
  const std::optional<std::string> text = read_if_regular(file, kMostBytes);
  return text ? text->substr(0, text->find('\n')) : "";
}

/// Adds the models in a cache of the Hugging Face hub: the folders
/// models--OWNER--REPO/snapshots/COMMIT, where refs/main contains COMMIT.
void add_hub_cache(const fs::path& cache, std::vector<NamedModel>& models) {
  constexpr std::string_view kPrefix = "models--";
  for (const fs::path& folder : entries_of(cache)) {
    std::string name = folder.filename().string();
    if (!name.starts_with(kPrefix)) continue;
    name = name.substr(kPrefix.size());
    if (const size_t dashes = name.find("--"); dashes != std::string::npos)
      name = fmt::format("{}/{}", name.substr(0, dashes), name.substr(dashes + 2));
    const std::string commit = first_line(folder / "refs/main");
    if (commit.empty() || commit.starts_with('.') || commit.find('/') != std::string::npos)
      continue;
    const fs::path snapshot = folder / "snapshots" / commit;
    const bool weights = is_file(snapshot / "model.safetensors") ||
                         is_file(snapshot / "model.safetensors.index.json");
    if (weights && is_file(snapshot / "config.json")) models.push_back({name, snapshot});
    add_files(snapshot, models);
  }
}

/// Returns the blob that contains the weights, according to a manifest of ollama.
std::optional<fs::path> ollama_blob(const fs::path& manifest, const fs::path& blobs) {
  try {
    const nlohmann::json document = read_json_file(manifest);
    for (const auto& layer : document.at("layers")) {
      if (layer.at("mediaType") != "application/vnd.ollama.image.model") continue;
      std::string digest = layer.at("digest").get<std::string>();
      if (const size_t colon = digest.find(':'); colon != std::string::npos) digest[colon] = '-';
      if (digest.find('/') == std::string::npos && is_file(blobs / digest)) return blobs / digest;
    }
  } catch (const UserError&) {
  } catch (const nlohmann::json::exception&) {  // The file is not a manifest.
  }
  return std::nullopt;
}

/// Adds the models of ollama. Manifests are the files manifests/HOST/OWNER/NAME/TAG. The default
/// host and owner are omitted from names.
void add_ollama(const fs::path& folder, std::vector<NamedModel>& models) {
  const fs::path manifests = folder / "manifests";
  for (const fs::path& file : files_below(manifests)) {
    const auto blob = ollama_blob(file, folder / "blobs");
    if (!blob) continue;
    const fs::path name = file.parent_path().lexically_relative(manifests);
    std::string text = name.string();
    for (const std::string prefix : {"registry.ollama.ai/library/", "registry.ollama.ai/"}) {
      if (text.starts_with(prefix)) {
        text = text.substr(prefix.size());
        break;
      }
    }
    models.push_back({fmt::format("{}:{}", text, file.filename().string()), *blob});
  }
}

}  // namespace

std::vector<NamedModel> models_elsewhere() {
  std::vector<NamedModel> models;
  add_hub_cache(store({{"HF_HUB_CACHE", ""}, {"HF_HOME", "hub"}}, ".cache/huggingface/hub"),
                models);
  add_ollama(store({{"OLLAMA_MODELS", ""}}, ".ollama/models"), models);
  add_files(store({}, ".lmstudio/models"), models);
  add_files(store({}, ".cache/lm-studio/models"), models);
  add_files(store({{"LLAMA_CACHE", ""}}, ".cache/llama.cpp"), models);
  return models;
}

}  // namespace longhaul
