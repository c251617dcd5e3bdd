#pragma once
// The settings of reattention that are tried for a model.

#include <vector>

#include "attention/model_shape.h"
#include "calibrate/settings_sweep.h"

namespace longhaul {

/// Visible lists of a half, a quarter and all of `window` tokens, half or a quarter of each the
/// most recent ones, and spans of 16 and 64 beside 32: the published setting (8,192, half of it,
/// 32) in proportion, and what is near it. `window`: what the model was trained for, or less where
/// prompts are so short that they would be seen whole. UserError below 640.
std::vector<SweptSetting> reattention_settings(int64_t window);

/// "reattention:local=1024,..." as JSON options for a profile.
nlohmann::ordered_json options_of(const std::string& attention);

}  // namespace longhaul
