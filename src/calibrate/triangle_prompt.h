#pragma once
// TriangleMix's prompts of keys and values (2025, section 3), by which layers are probed.

#include <cstdint>
#include <optional>
#include <vector>

#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace longhaul {

struct TrianglePrompt {
  std::vector<int32_t> tokens;
  int32_t wanted = 0;  ///< the first token of the value that says something
};

struct TrianglePromptRequest {
  const Tokenizer* tokenizer = nullptr;
  std::optional<ChatTemplate> chat;  ///< none: bare text, as published
  uint64_t seed = 1;
  int64_t tokens = 0;  ///< at most
};

/// Another one for every index. UserError when `tokens` is too short for two lines.
TrianglePrompt triangle_prompt(const TrianglePromptRequest& request, int index);

}  // namespace longhaul
