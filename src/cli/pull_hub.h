#pragma once
// Downloads models from the hub or another server into the user's cache folder, where they have
// names.

#include <filesystem>
#include <optional>
#include <string>

#include "hub/model_reference.h"

namespace longhaul {

struct PullRequest {
  ModelReference reference;
  std::string name;    ///< name of the model; empty: the file's
  bool again = false;  ///< even if it exists
  bool progress = true;
  bool system = false;  ///< into the folder for all users
};

struct PulledModel {
  std::string name;
  std::filesystem::path path;
  int64_t bytes = 0;
  bool fetched = false;    ///< false: it existed already
  bool cancelled = false;  ///< received bytes are kept for the next time
};

/// Reports on standard error: repository, files, bytes, licence, free space. Throws UserError.
PulledModel pull_from_hub(const PullRequest& request);

/// A model pulled earlier with such a reference; no server is contacted.
std::optional<std::filesystem::path> find_pulled(const ModelReference& reference);

}  // namespace longhaul
