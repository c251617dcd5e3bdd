#include "cli/prompt.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>

#include "base/error.h"
#include "base/nearest_name.h"
#include "base/paths.h"
#include "cli/documents.h"
#include "cli/flags.h"
#include "text/printable.h"

namespace longhaul {
namespace {

/// The error message; empty for a known name or a file.
std::string chat_template_problem(const std::string& text) {
  const std::vector<std::string_view> names = chat_template_names();
  if (std::find(names.begin(), names.end(), text) != names.end() || is_file(text)) return "";
  const std::vector<std::string> known(names.begin(), names.end());
  return fmt::format("{} is no file and none of {}{}", printable(text), fmt::join(names, ", "),
                     nearest_name_hint(text, known));
}

PromptText text_of(const PromptFlags& flags, const std::vector<std::string>& documents,
                   const Engine& engine) {
  // A bare text is used byte for byte; a message does not end in newlines.
  const bool one_bare_text = flags.form.raw && flags.question.empty() && documents.size() == 1;
  std::string text = one_bare_text ? documents.front() : join_documents(documents, flags.question);
  if (is_blank(text)) refuse_empty_prompt();
  if (flags.form.raw) return bare_prompt(std::move(text), true);
  std::vector<ChatMessage> messages;
  if (!flags.system.empty()) messages.push_back({ChatRole::system, flags.system});
  messages.push_back({ChatRole::user, std::move(text)});
  return chat_prompt(flags.template_of(engine), messages);
}

}  // namespace

void refuse_empty_prompt() {
  user_error(
      "the prompt is empty: give a text with -f FILE (-: standard input) or a question with "
      "-p TEXT");
}

void PromptFormFlags::add_to(CLI::App& app) {
  add_path(app, "--chat-template", chat_template, "NAME|FILE",
           "Use this template (docs/cli.md lists the names) or Jinja file, not the model's own")
      ->check(chat_template_problem)
      ->group(kPromptFormGroup);
  app.add_flag("--raw", raw, "No chat template: the model continues the bare text")
      ->group(kPromptFormGroup);
}

void PromptFormFlags::check() const {
  if (raw && !chat_template.empty())
    user_error("--chat-template {}: does not go with --raw, which uses none", chat_template);
}

void PromptFlags::add_to(CLI::App& app) {
  app.add_option("-f,--file", files,
                 "A text to read, '-' for standard input; may be given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
  const auto once = CLI::MultiOptionPolicy::Throw;  // the other texts would be lost silently
  add_text(app, "-p,--prompt", question, "TEXT", "The question; it follows the texts")
      ->multi_option_policy(once);
  add_text(app, "--system", system, "TEXT", "System message")
      ->multi_option_policy(once)
      ->group(kPromptFormGroup);
  form.add_to(app);
  app.add_flag("--template-clock", template_clock,
               "Tell the chat template today's date, if it asks for one")
      ->group(kPromptFormGroup);
}

ChatTemplate PromptFlags::template_of(const Engine& engine) const {
  ChatTemplate chat = engine.chat_template(form.chat_template);
  if (template_clock) {
    const std::time_t now = std::time(nullptr);
    std::tm today{};
    localtime_r(&now, &today);
    chat.use_clock(today);
  }
  return chat;
}

void PromptFlags::check() const {
  form.check();
  if (form.raw && template_clock)
    user_error("--template-clock: does not go with --raw, which uses no template");
  if (form.raw && !system.empty())
    user_error("--system: does not go with --raw, which knows no messages");
}

PromptTokens compose_prompt(const PromptFlags& flags, const std::vector<std::string>& documents,
                            const Engine& engine) {
  size_t replaced = 0;
  PromptTokens prompt = prompt_tokens(engine.tokenizer(), text_of(flags, documents, engine),
                                      flags.question, &replaced);
  warn_replaced(flags.system.empty() ? "the question" : "the question or --system", replaced);
  return prompt;
}

std::vector<int32_t> compose_before_question(const PromptFlags& flags,
                                             const std::vector<std::string>& documents,
                                             const Engine& engine) {
  if (is_blank(join_documents(documents, ""))) refuse_empty_prompt();
  const auto asking = [&](const std::string& question) {
    PromptFlags asked = flags;
    asked.question = question;
    return text_of(asked, documents, engine);
  };
  size_t replaced = 0;
  std::vector<int32_t> tokens = tokens_before_question(engine.tokenizer(), asking, &replaced);
  warn_replaced("--system", replaced);
  if (tokens.empty()) user_error("the texts give no tokens that stay whatever is asked");
  return tokens;
}

}  // namespace longhaul
