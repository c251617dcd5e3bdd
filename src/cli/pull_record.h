#pragma once
// Where a pulled model came from: a note beside the models, by which it is found again.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hub/model_reference.h"

namespace longhaul {

struct PullRecord {
  std::string name;        ///< that the model is known by
  std::string repository;  ///< OWNER/REPO; empty: of a URL
  std::string commit;
  std::string url;
  std::string licence;
  std::vector<std::string> files;  ///< as the repository calls them
  std::string path;                ///< of the model, within the cache folder
};

/// Writes .pulled/NAME.json in the cache folder. Throws UserError.
void keep_record(const std::filesystem::path& folder, const PullRecord& record);

/// Of the model of that name; nothing where there is none that can be read.
std::optional<PullRecord> read_record(const std::filesystem::path& folder, const std::string& name);

/// Whether a model with this record is what the reference means.
bool is_meant(const PullRecord& record, const ModelReference& reference);

/// The model that the reference means, where it has been pulled.
std::optional<PullRecord> find_record(const std::filesystem::path& folder,
                                      const ModelReference& reference);

}  // namespace longhaul
