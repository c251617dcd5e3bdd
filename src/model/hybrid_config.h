#pragma once
// Reads the settings of models with Mamba-2 parts or gated short convolutions, which replace the
// attention of a layer or are computed in addition to it. The numbers of layers and heads and the
// widths in ModelConfig must be set before.

#include <nlohmann/json_fwd.hpp>

#include "model/config.h"
#include "model/config_fields.h"
#include "model/config_gguf_keys.h"

namespace longhaul {

/// Copies keys that have a different name in these families' config.json to the names that other
/// families use.
void use_usual_keys(nlohmann::json& config);

/// Set the kinds of layers and the sizes of recurrent parts. Throw a UserError that names the file,
/// the key and the value if a size is out of range or a list does not have one element per layer.
void read_hybrid(const ConfigFields& fields, Hybrid hybrid, ModelConfig& c);
void read_hybrid(const GgufKeys& keys, const Checkpoint& checkpoint, Hybrid hybrid, ModelConfig& c);

/// Sets the widths and factors that depend on other settings. Experts, factors and RoPE must be set
/// before.
void finish_hybrid(const ConfigFields& fields, Hybrid hybrid, ModelConfig& c);

}  // namespace longhaul
