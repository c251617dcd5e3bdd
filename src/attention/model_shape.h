#pragma once
// What attention methods may know of a model.

#include <cstdint>
#include <string>
#include <vector>

#include "ops/rope.h"

namespace longhaul {

/// What methods that look at the text itself may know of a token.
enum class TokenClass : uint8_t { kOther, kSpecial, kPunctuation };

struct ModelShape {
  int layers = 0;
  int heads = 0;              ///< query heads
  std::vector<int> kv_heads;  ///< per layer
  int head_dim = 0;
  float scale = 0;  ///< of the logits, usually 1 / sqrt(head_dim)
  int64_t trained_context = 0;
  std::vector<int64_t> window;  ///< per layer: the model's own sliding window, 0 for none
  RopeTable rope;
  std::string profile_prefix;             ///< of the files of attention/profile.h; empty: none
  std::vector<TokenClass> token_classes;  ///< by token id; empty: not known

  int64_t own_window(int layer) const { return window[static_cast<size_t>(layer)]; }
  int lists(int layer) const { return kv_heads[static_cast<size_t>(layer)]; }
};

}  // namespace longhaul
