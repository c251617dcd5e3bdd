#pragma once
// Models by name: folders NAME (Hugging Face) and files NAME.gguf in the few places where Longhaul
// keeps models.

#include <filesystem>
#include <string>
#include <vector>

namespace longhaul {

struct NamedModel {
  std::string name;
  std::filesystem::path path;
};

/// Where names are looked for, in this order: $LONGHAUL_MODELS; `models` in the folders above the
/// program (a source tree) and `share/longhaul/models` beside its bin folder (an installation); the
/// user's cache folder.
std::vector<std::filesystem::path> model_folders();

/// $XDG_CACHE_HOME/longhaul, else ~/.cache/longhaul. Throws UserError when neither variable is set.
std::filesystem::path model_cache_folder();

/// Everything at hand, first place first; a name that appears twice is listed once.
std::vector<NamedModel> models_at_hand();

/// The path of `model`: a name, else a path that exists. Throws UserError naming what is at hand.
std::filesystem::path find_model(const std::string& model);

}  // namespace longhaul
