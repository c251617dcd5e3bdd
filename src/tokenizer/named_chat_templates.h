#pragma once
// Chat templates for models that come without one, by name (`--chat-template NAME`).

#include <span>
#include <string>
#include <string_view>

namespace longhaul {

struct NamedChatTemplate {
  std::string name;
  std::string jinja;
  std::string bos, eos;  ///< when the model does not say
};

std::span<const NamedChatTemplate> named_chat_templates();
/// Null when there is none of that name.
const NamedChatTemplate* find_named_chat_template(std::string_view name);

}  // namespace longhaul
