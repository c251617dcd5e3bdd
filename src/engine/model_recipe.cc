#include "engine/model_recipe.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/paths.h"
#include "base/units.h"
#include "text/json_file.h"
#include "text/printable.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "model.json";
constexpr size_t kMostAdapters = 64;
constexpr size_t kMostRecipeBytes = size_t{1} << 20;

/// Returns a name in a recipe, of a file beside the recipe or of a model. Throws UserError if it is
/// not a plain name without a path.
std::string plain_name(const nlohmann::json& value, const std::string& file, const char* key) {
  if (!value.is_string()) user_error("{}: '{}' is no text", file, key);
  auto name = value.get<std::string>();
  if (name.empty() || name.starts_with(".") || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    user_error("{}: '{}' is {}, which is no plain name", file, key, printable(name));
  }
  return name;
}

AdapterSource read_adapter(const nlohmann::json& entry, const fs::path& folder,
                           const std::string& file) {
  if (!entry.is_object() || !entry.contains("file"))
    user_error("{}: an entry of 'adapters' has no 'file'", file);
  AdapterSource adapter{folder / plain_name(entry["file"], file, "file"), 1};
  if (const auto weight = entry.find("weight"); weight != entry.end()) {
    if (!weight->is_number() || !std::isfinite(weight->get<double>()))
      user_error("{}: 'weight' is no number", file);
    adapter.weight = weight->get<double>();
  }
  return adapter;
}

}  // namespace

bool is_recipe(const fs::path& folder) { return is_file(folder / kFile); }

ModelRecipe read_recipe(const fs::path& folder) {
  const std::string file = (folder / kFile).string();
  // The size is limited, because a parsed JSON document needs about twenty times the memory of its
  // text.
  if (const auto bytes = fs::file_size(file); bytes > kMostRecipeBytes) {
    user_error("{}: {}; it is read up to {}", file, format_bytes(bytes),
               format_bytes(kMostRecipeBytes));
  }
  const nlohmann::json document = read_json_file(file);
  if (!document.contains("base")) user_error("{}: 'base' is missing", file);
  ModelRecipe recipe;
  recipe.base = plain_name(document["base"], file, "base");
  const auto adapters = document.find("adapters");
  if (adapters == document.end() || !adapters->is_array() || adapters->empty())
    user_error("{}: 'adapters' is no list of adapters", file);
  if (adapters->size() > kMostAdapters) {
    user_error("{}: 'adapters' lists {}; at most {} are supported", file, adapters->size(),
               kMostAdapters);
  }
  for (const auto& entry : *adapters) recipe.adapters.push_back(read_adapter(entry, folder, file));
  return recipe;
}

}  // namespace longhaul
