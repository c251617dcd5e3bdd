#pragma once
// Finds models by name in the folders where Longhaul keeps models. A model is a folder NAME
// (Hugging Face) or a file NAME.gguf.

#include <filesystem>
#include <string>
#include <vector>

#include "engine/model_source.h"

namespace longhaul {

struct NamedModel {
  std::string name;
  std::filesystem::path path;
};

/// Returns the folders that are searched for names, in this order: 1. $LONGHAUL_MODELS 2. `models`
/// in the folders above the program (source tree) and `share/longhaul/models` beside the program's
/// bin folder (installation) 3. the user's cache folder 4. the folder for all users 5.
/// /var/lib/longhaul/models and /usr/share/longhaul/models, used by packages and services
std::vector<std::filesystem::path> model_folders();

/// Returns the folder of models for all users, which `pull --system` fills:
/// $LONGHAUL_SYSTEM_MODELS, or else /usr/local/share/longhaul/models.
std::filesystem::path system_model_folder();

/// Returns $XDG_CACHE_HOME/longhaul, or else ~/.cache/longhaul. Throws UserError if neither
/// variable is set.
std::filesystem::path model_cache_folder();

/// Returns all available models in the order of the folders. A name that occurs twice is listed
/// once.
std::vector<NamedModel> models_at_hand();

/// Returns whether `model` consists of adapters and a base model that is not in `models`. Throws
/// UserError if the file that names the base model cannot be read.
bool lacks_base(const NamedModel& model, const std::vector<NamedModel>& models);

/// Returns the path of the weights of `model`, which is a name or an existing path. If `model`
/// consists of a base model and adapters, returns the path of the base model. Throws UserError that
/// lists the available models.
std::filesystem::path find_model(const std::string& model);

/// Returns the path of the weights, and the adapters if there are any.
ModelSource find_model_source(const std::string& model);

/// Returns the model that is used if none is named: $LONGHAUL_MODEL, or smollm2-32k if all its
/// parts are available, or else nano.
std::string default_model();

/// Returns the model for chats and answers if none is named: $LONGHAUL_MODEL, or smollm2-32k, or
/// the first available model except nano. (nano can answer little except questions about keys.)
/// Throws UserError that explains how to get a model if there is none.
std::string chat_model();

}  // namespace longhaul
