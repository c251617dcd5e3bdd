#pragma once
// Models whose layers differ in more than a window (Gemma 4): layers without a window have heads of
// their own size and number, whose values may be their keys, and the last layers may use the keys
// and values of earlier ones.

#include "model/config.h"
#include "model/config_fields.h"
#include "model/config_gguf_keys.h"

namespace longhaul {

/// Sets sizes and numbers of heads, widths of networks, shared keys and values and the embedding of
/// layers. Layers, heads and windows must be set.
void read_layer_kinds(const ConfigFields& fields, ModelConfig& c);
void read_layer_kinds(const GgufKeys& keys, const Checkpoint& checkpoint, ModelConfig& c);

}  // namespace longhaul
