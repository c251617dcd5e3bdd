#pragma once
// A model's chat template, run as Hugging Face transformers runs it (jinja/template.h). What
// messages say stays apart from what the template writes around it.

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
  /// By name (`chat_template_names()`), which brings tokens of its own where the model has none;
  /// UserError lists the names.
  static ChatTemplate named(std::string_view name, ChatTokens tokens = {});

  /// Such a name, or the name of a file with Jinja text.
  static ChatTemplate chosen(const std::string& name_or_file, ChatTokens tokens);

  /// From Jinja text; `where` names it in messages. UserError where it is no template.
  static ChatTemplate from_text(std::string_view jinja, ChatTokens tokens,
                                const std::string& where);

  /// From the model's metadata, chat_template.jinja, tokenizer_config.json or chat_template.json.
  /// UserError names `--chat-template NAME` and `--raw` when it has none.
  static ChatTemplate of(const Checkpoint& checkpoint);

  /// Whether a system message can be given at all.
  bool holds_system() const { return holds_system_; }

  /// Gives the template today's date. Without this call a prompt does not depend on the day, so
  /// that a session saved today serves tomorrow: strftime_now is not "defined", and templates use
  /// the date that they have for this case; to those that call it without asking it gives 26 July
  /// 2024.
  void use_clock(const std::tm& now) { clock_ = now; }

  /// The whole conversation. BOS is part of it where the template writes it: encode it with
  /// `add_special = false`. UserError when the template cannot hold the messages.
  std::vector<TextSegment> segments(std::span<const ChatMessage> messages,
                                    bool add_generation_prompt) const;
  /// The same with tools, documents and whatever else the template knows. Of a model with several
  /// templates the one named tool_use counts when there are tools. UserError also for messages
  /// that are no objects with a role.
  std::vector<TextSegment> segments(const ChatRequest& request) const;
  std::string render(std::span<const ChatMessage> messages, bool add_generation_prompt) const;

  /// What a further user message adds behind the model's reply, up to the next reply's beginning;
  /// it begins with what ends the reply. `system`: of the conversation, if it has one. (A template
  /// that drops thinking from earlier replies would render the whole conversation differently.)
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
