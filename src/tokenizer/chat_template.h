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

/// The texts of the model's tokens, for templates that write them. Empty: the format's own.
struct ChatTokens {
  std::string bos, eos;
};

struct ChatFormat;  // chat_formats.h: the pieces that a template puts around the messages

class ChatTemplate {
 public:
  /// By name (`chat_template_names()`); UserError lists the names.
  static ChatTemplate named(std::string_view name, ChatTokens tokens = {});

  /// From the Jinja text. UserError names `model`, `--chat-template NAME` (with the names) and
  /// `--raw`.
  static ChatTemplate recognise(std::string_view jinja, ChatTokens tokens = {},
                                const std::string& model = "the model");

  /// From the model's metadata or tokenizer_config.json; UserError also when it has none.
  static ChatTemplate of(const Checkpoint& checkpoint);

  std::string_view name() const;
  /// The system message that the template adds when the conversation has none; often empty.
  const std::string& default_system() const { return default_system_; }
  /// Whether a system message can be given at all.
  bool holds_system() const;

  /// The whole conversation. BOS is part of it where the template writes it: encode it with
  /// `add_special = false`. UserError when the template cannot hold the messages (a system message
  /// that is not the first or has no place, roles that do not alternate where they must).
  std::vector<TextSegment> segments(std::span<const ChatMessage> messages,
                                    bool add_generation_prompt) const;
  std::string render(std::span<const ChatMessage> messages, bool add_generation_prompt) const;

  /// What a further user message adds after the model's reply, up to the next reply's beginning.
  /// `reply_closed`: the token with which the model ended its turn is already in the context.
  /// (Formats that move the system message to the last user turn, or drop thinking from earlier
  /// replies, would render the whole conversation a little differently.)
  std::vector<TextSegment> further_turn(std::string_view user_text, bool reply_closed) const;

 private:
  ChatTemplate(const ChatFormat& format, std::string default_system, bool writes_bos,
               ChatTokens tokens);
  friend class ChatRenderer;

  const ChatFormat* format_;  // of a static table
  std::string default_system_;
  bool writes_bos_;
  ChatTokens tokens_;
  std::string date_ = "26 Jul 2024";
};

/// chatml, llama2, llama3, ...
std::vector<std::string_view> chat_template_names();

}  // namespace longhaul
