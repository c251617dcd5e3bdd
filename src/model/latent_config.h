#pragma once
// Reads the settings of multi-head latent attention (LatentShape). The numbers of layers and heads,
// the widths and the epsilon of norms in ModelConfig must be set before. The functions set the
// sizes of heads, the number of KV heads and attention_scale.

#include "model/config.h"
#include "model/config_fields.h"
#include "model/config_gguf_keys.h"

namespace longhaul {

void read_latent(const ConfigFields& fields, ModelConfig& c);
void read_latent(const GgufKeys& keys, ModelConfig& c);

/// Sets attention_scale, the factor of the dot product of query and key, to 1 /
/// sqrt(LatentShape::query()). If `all_dims` (mscale_all_dim of yarn) is not 0, attention_scale is
/// also multiplied by the square of yarn_magnitude(). Call it after the RoPE settings have been
/// read.
void set_latent_scale(double all_dims, ModelConfig& c);

/// check_latent() throws UserError if a size is out of range. check_expert_groups() throws
/// UserError if the experts cannot be divided into groups of equal size.
void check_latent(const ModelConfig& c, const struct ConfigKeys& keys);
void check_expert_groups(const ModelConfig& c, const struct ConfigKeys& keys);

}  // namespace longhaul
