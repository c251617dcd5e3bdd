#pragma once
// Provides candidate settings of reattention for a model.

#include <vector>

#include "attention/model_shape.h"
#include "calibrate/settings_sweep.h"

namespace longhaul {

/// Returns candidate settings for a context window of `window` tokens. The number of visible keys
/// is `window`, or half or a quarter of it. Half or a quarter of the visible keys are the most
/// recent tokens. The span is 32; if both fractions are a half, there are also settings with 16 and
/// 64. The published setting (8,192 visible keys, half of them recent, span 32) is included in
/// proportion. `window` is the trained context, or less if prompts are so short that all their
/// tokens would be visible. Throws UserError if `window` is below 640.
std::vector<SweptSetting> reattention_settings(int64_t window);

/// Converts a text such as "reattention:local=1024,..." to JSON options for a profile.
nlohmann::ordered_json options_of(const std::string& attention);

}  // namespace longhaul
