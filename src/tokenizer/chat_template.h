#pragma once
// A model's chat template converts a conversation to the text of a prompt. It is a Jinja template,
// which is rendered as in Hugging Face transformers (jinja/template.h). The result keeps the texts
// of messages separate from the template's own text, so that messages cannot contain control
// tokens.

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

/// The texts of the model's special tokens. Templates use them as variables such as bos_token. A
/// variable whose text is empty is undefined.
struct ChatTokens {
  std::string bos, eos, unknown, padding;
};

class ChatTemplate {
 public:
  /// Returns a built-in template by name (`chat_template_names()`). The texts of BOS and EOS that
  /// belong to the built-in template are used if `tokens` has none. Throws UserError with a list of
  /// the names if the name is unknown.
  static ChatTemplate named(std::string_view name, ChatTokens tokens = {});

  /// Returns a built-in template by name, or reads a file with Jinja text.
  static ChatTemplate chosen(const std::string& name_or_file, ChatTokens tokens);

  /// Parses Jinja text. `where` names the text in error messages. Throws UserError if the text is
  /// not a valid template.
  static ChatTemplate from_text(std::string_view jinja, ChatTokens tokens,
                                const std::string& where);

  /// Returns the template of a model from its metadata, chat_template.jinja, tokenizer_config.json
  /// or chat_template.json. If there is none, throws UserError that suggests `--chat-template NAME`
  /// and `--raw`.
  static ChatTemplate of(const Checkpoint& checkpoint);

  /// Returns whether the template supports a system message.
  bool holds_system() const { return holds_system_; }

  /// Sets the date for the template's function strftime_now. Without this call, prompts do not
  /// depend on the current date, so that a session saved today can be used tomorrow. The test
  /// `strftime_now is defined` is then false, and templates with this test use their own fallback
  /// date. A template that calls the function without the test gets 26 July 2024.
  void use_clock(const std::tm& now) { clock_ = now; }

  /// Renders a whole conversation. Encode the result with `add_special = false`, because the
  /// template itself writes BOS if the model needs it. Throws UserError if the template does not
  /// support the messages.
  std::vector<TextSegment> segments(std::span<const ChatMessage> messages,
                                    bool add_generation_prompt) const;
  /// Renders a conversation with tools, documents and other variables of the template. If the model
  /// has several templates and there are tools, the template named tool_use is used. Throws
  /// UserError if the template does not support the messages, or if a message is not an object with
  /// a role.
  std::vector<TextSegment> segments(const ChatRequest& request) const;
  std::string render(std::span<const ChatMessage> messages, bool add_generation_prompt) const;

  /// Returns the text that must follow after the model's reply for a further user message, up to
  /// the beginning of the next reply. It begins with the text that ends the reply. `system` is the
  /// system message of the conversation, if any. (Rendering the whole conversation again could
  /// change its beginning, because some templates remove the reasoning from earlier replies.)
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

/// Returns the names of the built-in templates, such as chatml and llama3.
std::vector<std::string_view> chat_template_names();

}  // namespace longhaul
