#pragma once
// Reads the settings of models whose layers differ in more than the sliding window (Gemma 4).
// Layers without a window have another size and number of heads than the other layers, and may use
// their keys as values. The last layers may use the keys and values of earlier layers.

#include "model/config.h"
#include "model/config_fields.h"
#include "model/config_gguf_keys.h"

namespace longhaul {

/// Set the sizes and numbers of heads per layer, the widths of feed-forward networks, the layers
/// that share keys and values, and the width of per-layer embeddings. The numbers of layers and
/// heads and the windows in ModelConfig must be set before.
void read_layer_kinds(const ConfigFields& fields, ModelConfig& c);
void read_layer_kinds(const GgufKeys& keys, const Checkpoint& checkpoint, ModelConfig& c);

}  // namespace longhaul
