#pragma once
// Models from the hub or another server into the user's cache folder, where they have names.

#include <filesystem>
#include <optional>
#include <string>

#include "hub/model_reference.h"

namespace longhaul {

struct PullRequest {
  ModelReference reference;
  std::string name;    ///< to be known by; empty: the file's
  bool again = false;  ///< even if it is here
  bool progress = true;
};

struct PulledModel {
  std::string name;
  std::filesystem::path path;
  int64_t bytes = 0;
  bool fetched = false;    ///< false: it was here
  bool cancelled = false;  ///< what has arrived stays for the next time
};

/// Says on standard error what is fetched: repository, files, bytes, licence, free space. Throws
/// UserError.
PulledModel pull_from_hub(const PullRequest& request);

/// One that was pulled by such a reference; no server is asked.
std::optional<std::filesystem::path> find_pulled(const ModelReference& reference);

}  // namespace longhaul
