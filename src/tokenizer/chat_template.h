#pragma once
// A model's chat template, run as in Hugging Face transformers (jinja/template.h). The texts of
// messages stay separate from the template's own text.

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

/// The texts of the model's tokens, for templates that write them. Empty: undefined.
struct ChatTokens {
  std::string bos, eos, unknown, padding;
};

class ChatTemplate {
 public:
  /// A template by name (`chat_template_names()`), with its own tokens if the model has none;
  /// UserError lists the names.
  static ChatTemplate named(std::string_view name, ChatTokens tokens = {});

  /// Such a name, or the name of a file with Jinja text.
  static ChatTemplate chosen(const std::string& name_or_file, ChatTokens tokens);

  /// From Jinja text; `where` names it in messages. UserError if it is not a template.
  static ChatTemplate from_text(std::string_view jinja, ChatTokens tokens,
                                const std::string& where);

  /// From the model's metadata, chat_template.jinja, tokenizer_config.json or chat_template.json.
  /// If there is none, UserError names `--chat-template NAME` and `--raw`.
  static ChatTemplate of(const Checkpoint& checkpoint);

  /// Returns whether the template supports a system message.
  bool holds_system() const { return holds_system_; }

  /// Sets the template's date. Without this call a prompt does not depend on the day, so that a
  /// session saved today can be used tomorrow: strftime_now is not "defined", and templates use
  /// their fallback date. Templates that call it without testing get 26 July 2024.
  void use_clock(const std::tm& now) { clock_ = now; }

  /// The whole conversation. It includes BOS if the template writes it, so encode it with
  /// `add_special = false`. UserError if the template does not support the messages.
  std::vector<TextSegment> segments(std::span<const ChatMessage> messages,
                                    bool add_generation_prompt) const;
  /// Variant with tools, documents and other variables of the template. If the model has several
  /// templates and there are tools, the template named tool_use is used. UserError also for
  /// messages that are not objects with a role.
  std::vector<TextSegment> segments(const ChatRequest& request) const;
  std::string render(std::span<const ChatMessage> messages, bool add_generation_prompt) const;

  /// The text that a further user message adds after the model's reply, up to the beginning of the
  /// next reply; it begins with the end of the reply. `system` is the conversation's system
  /// message, if any. (A template that drops thinking from earlier replies would render the whole
  /// conversation differently.)
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

/// chatml, llama2, llama3, ...
std::vector<std::string_view> chat_template_names();

}  // namespace longhaul
