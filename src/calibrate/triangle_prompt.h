#pragma once
// Makes the prompts with which layers are probed (calibrate/triangle_probe.h). As in TriangleMix
// (2025, section 3), a prompt has many lines with a key and its value, and a question for the value
// of one key.

#include <cstdint>
#include <optional>
#include <vector>

#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

namespace longhaul {

struct TrianglePrompt {
  std::vector<int32_t> tokens;
  /// The token that should follow: the first token of the value of the key in the question, or its
  /// second token if the first is only a space.
  int32_t wanted = 0;
};

struct TrianglePromptRequest {
  const Tokenizer* tokenizer = nullptr;
  std::optional<ChatTemplate> chat;  ///< none: bare text, as in TriangleMix's paper
  uint64_t seed = 1;
  int64_t tokens = 0;  ///< largest number of tokens of the prompt
};

/// Returns prompt number `index`. Each index yields another prompt. Throws UserError if `tokens` is
/// too small for two lines.
TrianglePrompt triangle_prompt(const TrianglePromptRequest& request, int index);

}  // namespace longhaul
