#pragma once
// A summary of a model with the facts that readers look for first: family, context length, adapters
// and licence.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/model_source.h"
#include "format/checkpoint.h"

namespace longhaul {

struct ModelSummary {
  std::string family;              ///< name of the architecture in the file
  std::string unsupported;         ///< reason why the model cannot be run; empty: it can be run
  std::optional<int64_t> context;  ///< context length for which the weights were trained
  std::optional<int64_t> adapted;  ///< context length for which an adapter was trained
  std::vector<std::string> adapters;
  std::string licence;  ///< as stated in the file or in the record of the download; empty: unknown
};

/// Returns the summary. Only headers are read. `name` is the name by which the user selected the
/// model. Throws UserError for an adapter that cannot be read.
ModelSummary summary_of(const Checkpoint& checkpoint, const ModelSource& source,
                        const std::string& name);

/// Returns one line for each fact that is known.
std::string text_of(const ModelSummary& summary);
nlohmann::ordered_json json_of(const ModelSummary& summary);

}  // namespace longhaul
