#pragma once
// The rotary embedding of a Hugging Face config.json.

#include <optional>

#include "model/config_fields.h"
#include "model/rope_spec.h"

namespace longhaul {

/// From `rope_parameters` or, in older files, `rope_scaling` and the keys beside it, read as
/// transformers 5 does (modeling_rope_utils.py): default, linear, llama3, yarn, dynamic, longrope.
/// Throws UserError: another rule, a missing or impossible value, a key that no rule knows.
/// Where layers with a window have angles of their own (Gemma 3), those of the others.
RopeSpec read_hf_rope(const ConfigFields& config, int head_dim, int64_t trained_context);

/// Ministral 3's `llama_4_scaling_beta` among the rope parameters (ModelConfig::temperature_scale).
double read_hf_temperature(const ConfigFields& config);

/// The base of layers with a window where `rope_parameters` has one for each kind of layer. Throws
/// UserError where those layers are scaled as well.
std::optional<double> read_hf_window_base(const ConfigFields& config);

}  // namespace longhaul
