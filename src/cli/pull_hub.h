#pragma once
// Downloads models from the hub (huggingface.co) or from another server, and stores them in the
// user's folder (cli/pull_folder.h). Commands find them there by name.

#include <filesystem>
#include <optional>
#include <string>

#include "hub/model_reference.h"

namespace longhaul {

struct PullRequest {
  ModelReference reference;
  std::string name;    ///< name under which the model is stored; empty: the name of the file
  bool again = false;  ///< whether the model is downloaded even if it has already been pulled
  bool progress = true;
  bool system = false;  ///< whether the model is stored in the folder for all users
};

struct PulledModel {
  std::string name;
  std::filesystem::path path;
  int64_t bytes = 0;
  bool fetched = false;  ///< whether the model was downloaded; false: it had already been pulled
  /// Whether the user has stopped the download. The received bytes are kept, and the next call
  /// continues.
  bool cancelled = false;
};

/// Downloads a model. Prints the repository, files, sizes, licence and free space to standard
/// error. Throws UserError if the download fails or there is too little space.
PulledModel pull_from_hub(const PullRequest& request);

/// Returns the path of the model that was pulled with this reference, or nothing if there is none.
/// Uses no network.
std::optional<std::filesystem::path> find_pulled(const ModelReference& reference);

}  // namespace longhaul
