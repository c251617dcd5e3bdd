#pragma once
// Reads the settings of multi-head latent attention. Layers, heads, widths and the norms' epsilon
// must be set; heads, keys and the factor of attention are set here.

#include "model/config.h"
#include "model/config_fields.h"
#include "model/config_gguf_keys.h"

namespace longhaul {

void read_latent(const ConfigFields& fields, ModelConfig& c);
void read_latent(const GgufKeys& keys, ModelConfig& c);

/// Sets the factor of q . k, after the rules for angles were read: 1 / sqrt(query()), times yarn's
/// magnitude squared if it holds for all dimensions (`all_dims`, 0: it does not).
void set_latent_scale(double all_dims, ModelConfig& c);

/// Throws UserError for sizes out of range, and for groups that experts do not fill evenly.
void check_latent(const ModelConfig& c, const struct ConfigKeys& keys);
void check_expert_groups(const ModelConfig& c, const struct ConfigKeys& keys);

}  // namespace longhaul
