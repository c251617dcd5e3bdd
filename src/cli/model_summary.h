#pragma once
// Creates a summary of a model: its family, context length, adapters and licence.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/model_source.h"
#include "format/checkpoint.h"

namespace longhaul {

struct ModelSummary {
  std::string family;              ///< name of the model's architecture, as in its file
  std::string unsupported;         ///< reason why the model cannot be run; empty: it can be run
  std::optional<int64_t> context;  ///< context length for which the weights were trained
  std::optional<int64_t> adapted;  ///< context length for which an adapter of the model was trained
  std::vector<std::string> adapters;
  std::string licence;  ///< licence in the model's file or in its PullRecord; empty: unknown
};

/// Returns the summary. The weights are not read. `name` is the name by which the user selected the
/// model. Throws UserError if an adapter cannot be read.
ModelSummary summary_of(const Checkpoint& checkpoint, const ModelSource& source,
                        const std::string& name);

/// Returns one line for each member of the summary that is known.
std::string text_of(const ModelSummary& summary);
nlohmann::ordered_json json_of(const ModelSummary& summary);

}  // namespace longhaul
