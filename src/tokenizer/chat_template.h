#pragma once
// A model's chat template. It is rendered as in Hugging Face transformers (jinja/template.h), but
// the texts of messages stay separate from the template's own text.

#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/template.h"
#include "tokenizer/tokenizer.h"

namespace longhaul {

class Checkpoint;
struct ChatRequest;

enum class ChatRole { system, user, assistant };

struct ChatMessage {
  ChatRole role;
  std::string content;
};

/// The texts of the model's special tokens, for templates that write them. An empty text is
/// undefined in the template.
struct ChatTokens {
  std::string bos, eos, unknown, padding;
};

class ChatTemplate {
 public:
  /// Returns a built-in template by name (`chat_template_names()`). It uses its own tokens if the
  /// model has none. Throws UserError with a list of the names if the name is unknown.
  static ChatTemplate named(std::string_view name, ChatTokens tokens = {});

  /// Returns a built-in template by name, or reads a file with Jinja text.
  static ChatTemplate chosen(const std::string& name_or_file, ChatTokens tokens);

  /// Parses Jinja text. `where` names it in messages. Throws UserError if it is not a valid
  /// template.
  static ChatTemplate from_text(std::string_view jinja, ChatTokens tokens,
                                const std::string& where);

  /// Returns the template of a model from its metadata, chat_template.jinja, tokenizer_config.json
  /// or chat_template.json. If there is none, throws UserError that suggests `--chat-template NAME`
  /// and `--raw`.
  static ChatTemplate of(const Checkpoint& checkpoint);

  /// Returns whether the template supports a system message.
  bool holds_system() const { return holds_system_; }

  /// Sets the date that the template sees. Without this call, a prompt does not depend on the
  /// current date, so a session saved today can be used tomorrow. strftime_now is then not
  /// "defined", and templates use their own fallback date. A template that calls it without this
  /// test gets 26 July 2024.
  void use_clock(const std::tm& now) { clock_ = now; }

  /// Renders a whole conversation. The result includes BOS if the template writes it, so encode it
  /// with `add_special = false`. Throws UserError if the template does not support the messages.
  std::vector<TextSegment> segments(std::span<const ChatMessage> messages,
                                    bool add_generation_prompt) const;
  /// Renders a conversation with tools, documents and other variables of the template. If the model
  /// has several templates and there are tools, the template named tool_use is used. Throws
  /// UserError also if a message is not an object with a role.
  std::vector<TextSegment> segments(const ChatRequest& request) const;
  std::string render(std::span<const ChatMessage> messages, bool add_generation_prompt) const;

  /// Returns the text that a further user message adds after the model's reply, up to the beginning
  /// of the next reply. It begins with the text that ends the reply. `system` is the system message
  /// of the conversation, if any. (A template that drops thinking from earlier replies would render
  /// the whole conversation differently.)
  std::vector<TextSegment> further_turn(std::string_view user_text,
                                        const std::optional<std::string>& system = {}) const;

 private:
  ChatTemplate(jinja::Template main, ChatTokens tokens, std::string where);
  jinja::Variables variables(bool add_generation_prompt) const;
  jinja::String rendered(std::span<const ChatMessage> messages, bool add_generation_prompt) const;
  bool find_whether_it_holds_system() const;

  jinja::Template main_;
  std::optional<jinja::Template> with_tools_;
  ChatTokens tokens_;
  std::string where_;
  std::optional<std::tm> clock_;
  bool holds_system_ = false;
};

/// Returns the names of the built-in templates: chatml, llama2, llama3 and so on.
std::vector<std::string_view> chat_template_names();

}  // namespace longhaul
