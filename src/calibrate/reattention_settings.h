#pragma once
// Lists settings of the attention method reattention, from which `longhaul calibrate` selects the
// best for a model.

#include <vector>

#include "attention/model_shape.h"
#include "calibrate/settings_sweep.h"

namespace longhaul {

/// Returns candidate settings. A query attends to at most `window` keys, half of this number, or a
/// quarter of it. Half or a quarter of these keys belong to the most recent tokens. The option span
/// is 32. For queries that attend to half of `window`, half of it recent keys, there are also
/// settings with span 16 and 64. One candidate has the proportions of the published setting (8,192
/// keys, half of them recent, span 32). `window` should be the trained context, or less if the
/// prompts are so short that each query would attend to all keys. Throws UserError if `window` is
/// below 640.
std::vector<SweptSetting> reattention_settings(int64_t window);

/// Converts a text such as "reattention:local=1024,..." to JSON options for a profile.
nlohmann::ordered_json options_of(const std::string& attention);

}  // namespace longhaul
