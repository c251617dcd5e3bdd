#pragma once
// Reads the settings of models whose layers have Mamba-2 layers or gated short convolutions beside
// or in place of attention. Layers, heads and widths must be set before.

#include <nlohmann/json_fwd.hpp>

#include "model/config.h"
#include "model/config_fields.h"
#include "model/config_gguf_keys.h"

namespace longhaul {

/// Renames keys of a config.json that these families name in another way than others.
void use_usual_keys(nlohmann::json& config);

/// Set the kinds of layers and the sizes of recurrent parts. Throw UserError that names the file,
/// the key and the value if a size is out of range or a list of layers has another length.
void read_hybrid(const ConfigFields& fields, Hybrid hybrid, ModelConfig& c);
void read_hybrid(const GgufKeys& keys, const Checkpoint& checkpoint, Hybrid hybrid, ModelConfig& c);

/// Sets widths and factors that depend on experts, scales and angles, which must be set before.
void finish_hybrid(const ConfigFields& fields, Hybrid hybrid, ModelConfig& c);

}  // namespace longhaul
