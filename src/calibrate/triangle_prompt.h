#pragma once
// Makes the key-value prompts of TriangleMix (2025, section 3), for probing layers.

#include <cstdint>
#include <optional>
#include <vector>

#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace longhaul {

struct TrianglePrompt {
  std::vector<int32_t> tokens;
  int32_t wanted = 0;  ///< first informative token of the expected value
};

struct TrianglePromptRequest {
  const Tokenizer* tokenizer = nullptr;
  std::optional<ChatTemplate> chat;  ///< none: bare text, as in the publication
  uint64_t seed = 1;
  int64_t tokens = 0;  ///< largest number of tokens of the prompt
};

/// Returns prompt `index`. Different indexes give different prompts. Throws UserError if `tokens`
/// is too small for two lines.
TrianglePrompt triangle_prompt(const TrianglePromptRequest& request, int index);

}  // namespace longhaul
