#pragma once
// When a model is pulled, its origin is recorded in a file next to the models. This record is used
// to find the model again by its reference (hub/model_reference.h).

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hub/model_reference.h"

namespace longhaul {

struct PullRecord {
  std::string name;        ///< name of the model
  std::string repository;  ///< OWNER/REPO; empty: the model was pulled from a URL
  std::string commit;
  std::string url;
  std::string licence;
  std::vector<std::string> files;  ///< names of the files in the repository
  std::string path;                ///< path of the model within the cache folder
};

/// Writes the record to .pulled/NAME.json in `folder`, the folder of the models. Throws UserError
/// if this fails.
void keep_record(const std::filesystem::path& folder, const PullRecord& record);

/// Returns the record of the model with this name, or nothing if there is none or it cannot be
/// read.
std::optional<PullRecord> read_record(const std::filesystem::path& folder, const std::string& name);

/// Returns whether the reference refers to the model with this record.
bool is_meant(const PullRecord& record, const ModelReference& reference);

/// Returns the record of the model to which the reference refers, or nothing if it has not been
/// pulled.
std::optional<PullRecord> find_record(const std::filesystem::path& folder,
                                      const ModelReference& reference);

}  // namespace longhaul
