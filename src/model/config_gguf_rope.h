#pragma once
// The rotary embedding of a GGUF file.

#include "model/config.h"
#include "model/config_gguf_keys.h"

namespace longhaul {

/// Fills c.rope and c.rope_tensors from the keys `rope.*` and from tensors of factors. head_dim and
/// trained_context must be set. Throws UserError for a rule or a value that is not supported.
void read_gguf_rope(const Checkpoint& checkpoint, const GgufKeys& keys, ModelConfig& c);

}  // namespace longhaul
