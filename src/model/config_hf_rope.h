#pragma once
// The rotary embedding of a Hugging Face config.json.

#include "model/config_fields.h"
#include "model/rope_spec.h"

namespace longhaul {

/// From `rope_parameters` or, in older files, `rope_scaling` and the keys beside it, read as
/// transformers 5 does (modeling_rope_utils.py): default, linear, llama3, yarn, dynamic, longrope.
/// Throws UserError: another rule, a missing or impossible value, a key that no rule knows.
RopeSpec read_hf_rope(const ConfigFields& config, int head_dim, int64_t trained_context);

}  // namespace longhaul
