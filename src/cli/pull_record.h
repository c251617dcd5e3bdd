#pragma once
// Records the origin of a pulled model in a file next to the models. The model is found again by
// this record.

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

/// Writes .pulled/NAME.json in the cache folder. Throws UserError.
void keep_record(const std::filesystem::path& folder, const PullRecord& record);

/// Returns the record of the model of that name. The result is empty if there is none or if it
/// cannot be read.
std::optional<PullRecord> read_record(const std::filesystem::path& folder, const std::string& name);

/// Returns whether the reference refers to the model with this record.
bool is_meant(const PullRecord& record, const ModelReference& reference);

/// Returns the record of the referenced model. The result is empty if the model has not been
/// pulled.
std::optional<PullRecord> find_record(const std::filesystem::path& folder,
                                      const ModelReference& reference);

}  // namespace longhaul
