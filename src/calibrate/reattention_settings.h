#pragma once
// Candidate settings of reattention for a model.

#include <vector>

#include "attention/model_shape.h"
#include "calibrate/settings_sweep.h"

namespace longhaul {

/// Visible lists of half, a quarter and all of `window` tokens, with half or a quarter of each as
/// most recent tokens, and spans of 16 and 64 besides 32. This is the published setting (8,192,
/// half of it, 32) in proportion, and variants close to it. `window` is the trained context, or
/// less if prompts are so short that they would be visible as a whole. UserError below 640.
std::vector<SweptSetting> reattention_settings(int64_t window);

/// Converts "reattention:local=1024,..." to JSON options for a profile.
nlohmann::ordered_json options_of(const std::string& attention);

}  // namespace longhaul
