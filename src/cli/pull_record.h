#pragma once
// Origin of a pulled model: a file beside the models, with which it is found again.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hub/model_reference.h"

namespace longhaul {

struct PullRecord {
  std::string name;        ///< name of the model
  std::string repository;  ///< OWNER/REPO; empty: pulled from a URL
  std::string commit;
  std::string url;
  std::string licence;
  std::vector<std::string> files;  ///< names in the repository
  std::string path;                ///< path of the model within the cache folder
};

/// Writes .pulled/NAME.json in the cache folder. Throws UserError.
void keep_record(const std::filesystem::path& folder, const PullRecord& record);

/// The record of the model of that name; empty if there is none that can be read.
std::optional<PullRecord> read_record(const std::filesystem::path& folder, const std::string& name);

/// Whether the reference refers to a model with this record.
bool is_meant(const PullRecord& record, const ModelReference& reference);

/// The record of the referenced model, if it has been pulled.
std::optional<PullRecord> find_record(const std::filesystem::path& folder,
                                      const ModelReference& reference);

}  // namespace longhaul
