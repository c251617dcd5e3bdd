#pragma once
// Reads the RoPE settings of a GGUF file.

#include "model/config.h"
#include "model/config_gguf_keys.h"

namespace longhaul {

/// Sets c.rope and c.rope_tensors from the keys `rope.*` and from tensors that contain RoPE
/// factors. c.head_dim and c.trained_context must be set before. Throws UserError if a kind of
/// scaling or a value is not supported.
void read_gguf_rope(const Checkpoint& checkpoint, const GgufKeys& keys, ModelConfig& c);

}  // namespace longhaul
