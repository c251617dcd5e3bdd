#pragma once
// Chat templates that are known by name. A model's Jinja text is recognised, not interpreted:
// what is rendered equals what the text renders in Hugging Face transformers.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace longhaul {

class Checkpoint;

enum class ChatRole { system, user, assistant };

struct ChatMessage {
  ChatRole role;
  std::string content;
};

struct ChatFormat;  // chat_formats.h: the pieces that a template puts around the messages

class ChatTemplate {
 public:
  /// By name (`chat_template_names()`); UserError lists the names.
  static ChatTemplate named(std::string_view name);

  /// From the Jinja text. UserError names `--chat-template NAME` (with the names) and `--raw`.
  static ChatTemplate recognise(std::string_view jinja);

  /// From the model's metadata or tokenizer_config.json; UserError also when it has none.
  static ChatTemplate of(const Checkpoint& checkpoint);

  std::string_view name() const;
  /// The system message that the template adds when the conversation has none; often empty.
  const std::string& default_system() const { return default_system_; }

  /// The whole conversation. BOS is part of it where the template writes it: encode it with
  /// `add_special = false`. UserError when the template cannot hold the messages (order of roles).
  std::vector<TextSegment> segments(std::span<const ChatMessage> messages,
                                    bool add_generation_prompt) const;
  std::string render(std::span<const ChatMessage> messages, bool add_generation_prompt) const;

  /// What a further user message adds after the model's reply, up to the next reply's beginning.
  /// `reply_closed`: the end-of-turn token that the model generated is already in the context.
  std::vector<TextSegment> further_turn(std::string_view user_text, bool reply_closed) const;

 private:
  ChatTemplate(const ChatFormat* format, std::string default_system);

  const ChatFormat* format_;
  std::string default_system_;
};

/// chatml, llama2, llama3, ...
std::vector<std::string_view> chat_template_names();

}  // namespace longhaul
