#include "cli/prompt.h"

#include <algorithm>

#include "base/error.h"
#include "cli/documents.h"
#include "cli/flags.h"

namespace longhaul {
namespace {

bool is_blank(const std::string& text) {
  return text.find_first_not_of(" \t\r\n") == std::string::npos;
}

/// The text ends with the question, if there is one.
Prompt compose_raw(const PromptFlags& flags, const std::string& text, const Engine& engine,
                   size_t* replaced) {
  Prompt prompt;
  prompt.tokens =
      engine.tokenizer().encode(text, {.add_special = true, .parse_special = true}, replaced);
  prompt.instruction = engine.tokenizer().tokens_of_tail(prompt.tokens, flags.question.size());
  return prompt;
}

Prompt compose_chat(const PromptFlags& flags, const std::string& text, const Engine& engine,
                    size_t* replaced) {
  const ChatTemplate chat = engine.chat_template(flags.chat_template);
  std::vector<ChatMessage> messages;
  if (!flags.system.empty()) messages.push_back({ChatRole::system, flags.system});
  messages.push_back({ChatRole::user, text});
  Prompt prompt;
  prompt.tokens = engine.tokenizer().encode(chat.segments(messages, true), false, replaced);
  if (!flags.question.empty()) {
    const std::string rendered = chat.render(messages, true);
    const size_t question = rendered.rfind(flags.question);
    if (question != std::string::npos) {
      prompt.instruction =
          engine.tokenizer().tokens_of_tail(prompt.tokens, rendered.size() - question);
    }
  }
  return prompt;
}

Prompt compose(const PromptFlags& flags, const std::vector<std::string>& documents,
               const Engine& engine, size_t* replaced) {
  // A bare text is the user's business to the last byte; a message does not end in newlines.
  const bool one_bare_text = flags.raw && flags.question.empty() && documents.size() == 1;
  const std::string text =
      one_bare_text ? documents.front() : join_documents(documents, flags.question);
  if (is_blank(text)) refuse_empty_prompt();
  return flags.raw ? compose_raw(flags, text, engine, replaced)
                   : compose_chat(flags, text, engine, replaced);
}

}  // namespace

void refuse_empty_prompt() {
  user_error(
      "the prompt is empty: give a text with -f FILE (-: standard input) or a question with "
      "-p TEXT");
}

void PromptFlags::add_to(CLI::App& app) {
  app.add_option("-f,--file", files,
                 "A text to read, '-' for standard input; may be given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
  add_text(app, "-p,--prompt", question, "TEXT", "The question; it follows the texts");
  const std::string group = "Prompt form";
  add_text(app, "--system", system, "TEXT", "System message")->group(group);
  std::vector<std::string> names;
  for (const std::string_view name : chat_template_names()) names.emplace_back(name);
  add_choice(app, "--chat-template", chat_template, names, "Use this template, not the model's own")
      ->type_name("NAME")
      ->group(group);
  app.add_flag("--raw", raw, "No chat template: the model continues the bare text")->group(group);
}

Prompt compose_prompt(const PromptFlags& flags, const std::vector<std::string>& documents,
                      const Engine& engine) {
  size_t replaced = 0;
  Prompt prompt = compose(flags, documents, engine, &replaced);
  warn_replaced(replaced);
  if (prompt.tokens.empty()) user_error("the prompt is empty: it gives no tokens");
  return prompt;
}

std::vector<int32_t> compose_before_question(const PromptFlags& flags,
                                             const std::vector<std::string>& documents,
                                             const Engine& engine) {
  if (is_blank(join_documents(documents, ""))) refuse_empty_prompt();
  PromptFlags asked = flags;
  size_t replaced = 0;
  asked.question = "What?";
  std::vector<int32_t> tokens = compose(asked, documents, engine, &replaced).tokens;
  asked.question = "1";  // shares no beginning with the other one
  const std::vector<int32_t> other = compose(asked, documents, engine, nullptr).tokens;
  const auto [end, ignored] =
      std::mismatch(tokens.begin(), tokens.end(), other.begin(), other.end());
  tokens.erase(end, tokens.end());
  warn_replaced(replaced);
  if (tokens.empty()) user_error("the texts give no tokens that stay whatever is asked");
  return tokens;
}

}  // namespace longhaul
