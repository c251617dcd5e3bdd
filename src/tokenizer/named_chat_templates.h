#pragma once
// Named chat templates for models without one (`--chat-template NAME`).

#include <span>
#include <string>
#include <string_view>

namespace longhaul {

struct NamedChatTemplate {
  std::string name;
  std::string jinja;
  std::string bos, eos;  ///< used if the model has none
};

std::span<const NamedChatTemplate> named_chat_templates();
/// Null if there is none of that name.
const NamedChatTemplate* find_named_chat_template(std::string_view name);

}  // namespace longhaul
