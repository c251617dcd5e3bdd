#include "engine/model_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/paths.h"
#include "base/program_folders.h"
#include "engine/model_recipe.h"
#include "engine/other_stores.h"
#include "engine/own_models.h"

namespace longhaul {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool is_model_folder(const fs::path& path) {
  return is_file(path / "config.json") || is_recipe(path);
}

const NamedModel* find_named(const std::vector<NamedModel>& models, const std::string& name) {
  const auto found = std::find_if(models.begin(), models.end(),
                                  [&](const NamedModel& m) { return m.name == name; });
  return found == models.end() ? nullptr : &*found;
}

/// Adds the models whose names are not yet in `models`.
void add_new(std::vector<NamedModel> found, std::vector<NamedModel>& models) {
  for (NamedModel& model : found) {
    if (find_named(models, model.name) == nullptr) models.push_back(std::move(model));
  }
}

/// Returns whether all files of the model are available and can be read.
bool is_at_hand(const NamedModel& model, const std::vector<NamedModel>& models) {
  try {
    return !lacks_base(model, models);
  } catch (const UserError&) {
    return false;
  }
}

/// Returns the path of a model's weights or recipe.
fs::path find_entry(const std::string& model, const std::vector<NamedModel>& models) {
  if (const NamedModel* named = find_named(models, model)) return named->path;
  if (is_there(model)) return model;
  if (model == "smollm2") {
    user_error("model 'smollm2' has not been fetched yet: run 'longhaul pull smollm2'");
  }
  std::vector<std::string> names;
  for (const NamedModel& m : models) {
    if (is_at_hand(m, models)) names.push_back(m.name);
  }
  user_error("model '{}': no such file or folder, and no model of that name (at hand: {}){}", model,
             names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
             nearest_name_hint(model, names));
}

void add_folder(std::vector<fs::path>& folders, const fs::path& folder) {
  if (!is_folder(folder)) return;
  if (std::find(folders.begin(), folders.end(), folder) == folders.end()) folders.push_back(folder);
}

/// Returns the models directly in `folder`, sorted by name.
std::vector<NamedModel> models_in(const fs::path& folder) {
  std::vector<NamedModel> models;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    if (path.filename().string().starts_with(".")) continue;
    if (is_model_folder(path)) {
      models.push_back({path.filename().string(), path});
    } else if (path.extension() == ".gguf") {
      models.push_back({path.stem().string(), path});
    }
  }
  std::sort(models.begin(), models.end(),
            [](const NamedModel& a, const NamedModel& b) { return a.path < b.path; });
  return models;
}

}  // namespace

std::filesystem::path model_cache_folder() {
  if (const std::string xdg = environment("XDG_CACHE_HOME"); !xdg.empty()) {
    return fs::path(xdg) / "longhaul";
  }
  const std::string home = environment("HOME");
  if (home.empty()) user_error("neither XDG_CACHE_HOME nor HOME is set: no cache folder is known");
  return fs::path(home) / ".cache" / "longhaul";
}

std::filesystem::path system_model_folder() {
  const std::string given = environment("LONGHAUL_SYSTEM_MODELS");
  return given.empty() ? fs::path("/usr/local/share/longhaul/models") : fs::path(given);
}

std::vector<std::filesystem::path> model_folders() {
  std::vector<fs::path> folders;
  if (const std::string given = environment("LONGHAUL_MODELS"); !given.empty()) {
    add_folder(folders, given);
  }
  for (const fs::path& folder : program_folders()) {
    // Other projects may also have a folder `models`. Longhaul's own one contains nano.
    if (is_model_folder(folder / "models" / "nano")) add_folder(folders, folder / "models");
  }
  if (!environment("XDG_CACHE_HOME").empty() || !environment("HOME").empty()) {
    add_folder(folders, model_cache_folder());
  }
  add_folder(folders, system_model_folder());
  for (const char* shared : {"/var/lib/longhaul/models", "/usr/share/longhaul/models"}) {
    add_folder(folders, shared);
  }
  return folders;
}

std::vector<NamedModel> own_models() {
  std::vector<NamedModel> models;
  for (const fs::path& folder : model_folders()) add_new(models_in(folder), models);
  return models;
}

std::vector<NamedModel> models_at_hand() {
  std::vector<NamedModel> models = own_models();
  add_new(models_elsewhere(), models);
  return models;
}

bool lacks_base(const NamedModel& model, const std::vector<NamedModel>& models) {
  return is_recipe(model.path) && find_named(models, read_recipe(model.path).base) == nullptr;
}

std::filesystem::path find_model(const std::string& model) { return find_model_source(model).path; }

ModelSource find_model_source(const std::string& model) {
  const std::vector<NamedModel> models = models_at_hand();
  const fs::path entry = find_entry(model, models);
  if (!is_recipe(entry)) return {entry, {}, {}, {}};
  ModelRecipe recipe = read_recipe(entry);
  const NamedModel* base = find_named(models, recipe.base);
  if (base == nullptr || is_recipe(base->path)) {
    user_error(
        "model '{}' needs model '{}', which has not been fetched yet: run 'longhaul pull {}'",
        model, recipe.base, recipe.base);
  }
  return {base->path, std::move(recipe.adapters), entry, {}};
}

std::string default_model() {
  if (std::string named = environment("LONGHAUL_MODEL"); !named.empty()) return named;
  const std::vector<NamedModel> models = own_models();
  const NamedModel* reader = find_named(models, "smollm2-32k");
  if (reader == nullptr || !is_recipe(reader->path)) return "nano";
  return find_named(models, "smollm2") != nullptr ? "smollm2-32k" : "nano";
}

std::string chat_model() {
  if (std::string model = default_model();
      model != "nano" || !environment("LONGHAUL_MODEL").empty()) {
    return model;
  }
  const std::vector<NamedModel> models = models_at_hand();
  for (const NamedModel& model : models) {
    if (model.name != "nano" && is_at_hand(model, models)) return model.name;
  }
  user_error(
      "no model that answers questions is at hand: 'longhaul pull smollm2-32k' fetches a small "
      "one, "
      "'longhaul models --all' lists others (-m nano: the test model, which finds keys in texts)");
}

}  // namespace longhaul
