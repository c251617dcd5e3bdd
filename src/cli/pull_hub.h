#pragma once
// Downloads models from the hub or another server into the user's cache folder. There they can be
// found by name.

#include <filesystem>
#include <optional>
#include <string>

#include "hub/model_reference.h"

namespace longhaul {

struct PullRequest {
  ModelReference reference;
  std::string name;    ///< name for the model; empty: the name of the file
  bool again = false;  ///< whether the model is downloaded even if it exists
  bool progress = true;
  bool system = false;  ///< whether the model is stored in the folder for all users
};

struct PulledModel {
  std::string name;
  std::filesystem::path path;
  int64_t bytes = 0;
  bool fetched = false;  ///< false: the model existed already
  /// Whether the user cancelled; received bytes are kept for the next call.
  bool cancelled = false;
};

/// Downloads a model. Reports the repository, files, sizes, licence and free space on standard
/// error. Throws UserError.
PulledModel pull_from_hub(const PullRequest& request);

/// Returns the path of a model that was pulled with this reference, or nothing if there is none. No
/// server is contacted.
std::optional<std::filesystem::path> find_pulled(const ModelReference& reference);

}  // namespace longhaul
