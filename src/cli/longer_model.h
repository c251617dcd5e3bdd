#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace longhaul {

struct LongerModel {
  std::string name;
  int64_t trained = 0;  ///< context length in tokens for which it was trained
};

/// Returns a local model that was trained for `tokens` tokens, preferably the default model for
/// answers. Only headers of the models are read. Never returns the test model.
std::optional<LongerModel> longer_model(int64_t tokens);

}  // namespace longhaul
