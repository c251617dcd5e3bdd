#pragma once
// Reads the sizes of Mamba-2 parts. ModelConfig::hidden must be set before.

#include "model/config.h"
#include "model/config_fields.h"
#include "model/config_gguf_keys.h"

namespace longhaul {

/// Set ModelConfig::ssm. Throw a UserError that names the file, the key and the value if a size is
/// out of range or is not a multiple of another size as required.
void read_ssm(const ConfigFields& fields, Hybrid hybrid, ModelConfig& c);
void read_ssm(const GgufKeys& keys, const Checkpoint& checkpoint, ModelConfig& c);

}  // namespace longhaul
