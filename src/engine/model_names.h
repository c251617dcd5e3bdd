#pragma once
// Models by name: folders NAME (Hugging Face) and files NAME.gguf in the few folders where Longhaul
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

/// The folders that are searched for names, in this order: $LONGHAUL_MODELS; `models` in the
/// folders above the program (a source tree) and `share/longhaul/models` beside its bin folder (an
/// installation); the user's cache folder; the folder for all users; /var/lib/longhaul/models and
/// /usr/share/longhaul/models, where packages and services keep models.
std::vector<std::filesystem::path> model_folders();

/// The folder of models for all users, which `pull --system` fills: $LONGHAUL_SYSTEM_MODELS, else
/// /usr/local/share/longhaul/models.
std::filesystem::path system_model_folder();

/// $XDG_CACHE_HOME/longhaul, else ~/.cache/longhaul. Throws UserError when neither variable is set.
std::filesystem::path model_cache_folder();

/// All available models in the order of the folders. A name that occurs twice is listed once.
std::vector<NamedModel> models_at_hand();

/// Whether `model` is a base model with adapters whose base is not in `models`. Throws UserError if
/// the file that names the base cannot be read.
bool lacks_base(const NamedModel& model, const std::vector<NamedModel>& models);

/// The path of the weights of `model`: a name, or else a path that exists. For a base model with
/// adapters it is the base's path. Throws UserError that lists the available models.
std::filesystem::path find_model(const std::string& model);

/// The path with the adapters.
ModelSource find_model_source(const std::string& model);

/// The model if none is named: $LONGHAUL_MODEL, smollm2-32k if its parts are available, else nano.
std::string default_model();

/// The model for chats and answers if none is named: $LONGHAUL_MODEL, smollm2-32k, or the first
/// available model except nano, which can answer little but questions about keys. If there is none,
/// throws UserError that says how to get a model.
std::string chat_model();

}  // namespace longhaul
