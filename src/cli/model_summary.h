#pragma once
// The lines about a model that a reader looks for first: family, context length, adapter, licence.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/model_source.h"
#include "format/checkpoint.h"

namespace longhaul {

struct ModelSummary {
  std::string family;              ///< the architecture's name in the file
  std::string unsupported;         ///< the reason why the model cannot be run; empty: it can
  std::optional<int64_t> context;  ///< tokens that the weights were trained for
  std::optional<int64_t> adapted;  ///< tokens that an adapter was trained for
  std::vector<std::string> adapters;
  std::string licence;  ///< as the file or the record of the download names it; empty: unknown
};

/// Reads headers only. `name` is the name by which the user chose the model. Throws UserError for
/// an adapter that cannot be read.
ModelSummary summary_of(const Checkpoint& checkpoint, const ModelSource& source,
                        const std::string& name);

/// One line for each fact that is known.
std::string text_of(const ModelSummary& summary);
nlohmann::ordered_json json_of(const ModelSummary& summary);

}  // namespace longhaul
