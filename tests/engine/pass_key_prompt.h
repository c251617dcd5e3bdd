#pragma once
// A pass key in a short text, with a question in the model's chat template.

#include <string>
#include <vector>

#include "engine/engine.h"

namespace longhaul::testing_support {

inline std::vector<int32_t> chat_tokens(const Engine& engine, const std::string& text) {
  const std::vector<ChatMessage> messages{{ChatRole::user, text}};
  return engine.tokenizer().encode(engine.chat_template().segments(messages, true), false);
}

/// About 300 of nano's tokens with the answer early.
inline std::vector<int32_t> early_pass_key(const Engine& engine) {
  std::string text = "The pass key is 58213. Remember it. 58213 is the pass key.\n";
  for (int i = 0; i < 22; ++i) text += "The harbour was quiet and the boats lay still. ";
  return chat_tokens(engine, text + "\nWhat is the pass key?");
}

}  // namespace longhaul::testing_support
