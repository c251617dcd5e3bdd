#pragma once
// Finds models by name, first in Longhaul's own model folders and then in those of other programs.
// In the own folders, a model is a folder NAME (Hugging Face) or a file NAME.gguf.

#include <filesystem>
#include <string>
#include <vector>

#include "engine/model_source.h"

namespace longhaul {

struct NamedModel {
  std::string name;
  std::filesystem::path path;
};

/// Returns the folders that are searched for names, in this order: $LONGHAUL_MODELS; the folder
/// `models` in any parent folder of the program (source tree); `share/longhaul/models` beside the
/// program's bin folder (installation); the user's cache folder; the folder for all users;
/// /var/lib/longhaul/models and /usr/share/longhaul/models, which packages and services use.
std::vector<std::filesystem::path> model_folders();

/// Returns the folder of models for all users, which `pull --system` fills:
/// $LONGHAUL_SYSTEM_MODELS, or else /usr/local/share/longhaul/models.
std::filesystem::path system_model_folder();

/// Returns $XDG_CACHE_HOME/longhaul, or else ~/.cache/longhaul. Throws UserError if neither
/// variable is set.
std::filesystem::path model_cache_folder();

/// Returns all models on this machine: those in model_folders(), in the order of the folders, and
/// those of other programs (other_stores.h). If a name occurs twice, only the first model is
/// returned.
std::vector<NamedModel> models_at_hand();

/// Returns whether `model` consists of adapters (model_recipe.h) for a base model that is not in
/// `models`. Throws UserError if the file that names the base model cannot be read.
bool lacks_base(const NamedModel& model, const std::vector<NamedModel>& models);

/// Returns the path of the weights of `model`, which is a name or an existing path. If `model`
/// consists of adapters for a base model, returns the path of the base model. If there is no such
/// model, throws a UserError that lists the available models.
std::filesystem::path find_model(const std::string& model);

/// Returns the path of the weights like find_model(), together with the adapters if there are any.
ModelSource find_model_source(const std::string& model);

/// Returns the model that commands use if the user names none: $LONGHAUL_MODEL, or smollm2-32k if
/// it and its base model are available, or else nano.
std::string default_model();

/// Returns the model for chats and questions if the user names none: $LONGHAUL_MODEL, or
/// smollm2-32k, or the first available model except nano. The test model nano is excluded because
/// it is only trained to find pass keys in texts. If there is no model, throws a UserError that
/// explains how to get one.
std::string chat_model();

}  // namespace longhaul
