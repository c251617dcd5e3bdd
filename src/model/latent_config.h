#pragma once
// Reads the settings of multi-head latent attention. Layers, heads, widths and the epsilon of the
// norms must be set before. These functions set the sizes of heads, the number of KV heads and the
// factor of attention.

#include "model/config.h"
#include "model/config_fields.h"
#include "model/config_gguf_keys.h"

namespace longhaul {

void read_latent(const ConfigFields& fields, ModelConfig& c);
void read_latent(const GgufKeys& keys, ModelConfig& c);

/// Sets the factor of the dot product of query and key to 1 / sqrt(query()). If `all_dims` is not
/// 0, it is also multiplied by the square of yarn's magnitude. Call it after the RoPE settings have
/// been read.
void set_latent_scale(double all_dims, ModelConfig& c);

/// check_latent() throws UserError for sizes that are out of range. check_expert_groups() throws
/// UserError if the experts cannot be divided evenly into groups.
void check_latent(const ModelConfig& c, const struct ConfigKeys& keys);
void check_expert_groups(const ModelConfig& c, const struct ConfigKeys& keys);

}  // namespace longhaul
