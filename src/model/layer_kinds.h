#pragma once
// Reads the settings of models whose layers differ in more than a window (Gemma 4). Layers without
// a window have another size and number of heads, and their values may be their keys. The last
// layers may use the keys and values of earlier layers.

#include "model/config.h"
#include "model/config_fields.h"
#include "model/config_gguf_keys.h"

namespace longhaul {

/// Sets the sizes and numbers of heads, the widths of feed-forward networks, the layers that share
/// keys and values, and the per-layer embedding. Layers, heads and windows must be set before.
void read_layer_kinds(const ConfigFields& fields, ModelConfig& c);
void read_layer_kinds(const GgufKeys& keys, const Checkpoint& checkpoint, ModelConfig& c);

}  // namespace longhaul
