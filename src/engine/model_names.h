#pragma once
// Models by name: folders NAME (Hugging Face) and files NAME.gguf in the few places where Longhaul
// keeps models.

#include <filesystem>
#include <string>
#include <vector>

#include "engine/model_source.h"

namespace longhaul {

struct NamedModel {
  std::string name;
  std::filesystem::path path;
};

/// Where names are looked for, in this order: $LONGHAUL_MODELS; `models` in the folders above the
/// program (a source tree) and `share/longhaul/models` beside its bin folder (an installation); the
/// user's cache folder; the folder for all users.
std::vector<std::filesystem::path> model_folders();

/// The folder of models for all users, which `pull --system` fills: $LONGHAUL_SYSTEM_MODELS, else
/// /usr/local/share/longhaul/models.
std::filesystem::path system_model_folder();

/// $XDG_CACHE_HOME/longhaul, else ~/.cache/longhaul. Throws UserError when neither variable is set.
std::filesystem::path model_cache_folder();

/// Everything at hand, first place first; a name that appears twice is listed once.
std::vector<NamedModel> models_at_hand();

/// Whether `model` is a base model with adapters whose base is none of `models`. Throws UserError
/// when the file that names the base cannot be read.
bool lacks_base(const NamedModel& model, const std::vector<NamedModel>& models);

/// The path of the weights of `model`: a name, else a path that exists. Of a model that is a base
/// model with adapters, the base's path. Throws UserError naming what is at hand.
std::filesystem::path find_model(const std::string& model);

/// The same with the adapters.
ModelSource find_model_source(const std::string& model);

/// The model where none is named: $LONGHAUL_MODEL, smollm2-32k where its parts are at hand, else
/// nano.
std::string default_model();

/// The model for chats and answers where none is named: $LONGHAUL_MODEL, smollm2-32k, or the first
/// model at hand except nano, which answers little but questions for keys. Throws UserError that
/// says how to get a model where there is none.
std::string chat_model();

}  // namespace longhaul
