#pragma once
// Lists the built-in chat templates. `--chat-template NAME` selects one for a model that has no
// template.

#include <span>
#include <string>
#include <string_view>

namespace longhaul {

struct NamedChatTemplate {
  std::string name;
  std::string jinja;
  std::string bos, eos;  ///< used if the model defines no such token
};

std::span<const NamedChatTemplate> named_chat_templates();
/// Returns the template of this name, or null if there is none.
const NamedChatTemplate* find_named_chat_template(std::string_view name);

}  // namespace longhaul
