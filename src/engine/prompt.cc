#include "engine/prompt.h"

#include <ctime>

#include "base/error.h"
#include "documents/documents.h"

namespace longhaul {
namespace {

PromptText text_of(const PromptParts& parts, const std::vector<std::string>& texts,
                   const Engine& engine) {
  // A single bare text is used unchanged. In all other cases, newlines at the end are removed.
  const bool one_bare_text = parts.form.raw && parts.question.empty() && texts.size() == 1;
  std::string text = one_bare_text ? texts.front() : join_documents(texts, parts.question);
  if (is_blank(text)) refuse_empty_prompt();
  if (parts.form.raw) return bare_prompt(std::move(text), true);
  std::vector<ChatMessage> messages;
  if (!parts.system.empty()) messages.push_back({ChatRole::system, parts.system});
  messages.push_back({ChatRole::user, std::move(text)});
  return chat_prompt(parts.template_of(engine), messages);
}

}  // namespace

void refuse_empty_prompt() {
  user_error(
      "the prompt is empty: give a text with -f FILE (-: standard input) or a question with "
      "-p TEXT");
}

void PromptForm::check() const {
  if (raw && !chat_template.empty())
    user_error("--chat-template {}: does not go with --raw, which uses none", chat_template);
}

ChatTemplate PromptParts::template_of(const Engine& engine) const {
  ChatTemplate chat = engine.chat_template(form.chat_template);
  if (template_clock) {
    const std::time_t now = std::time(nullptr);
    std::tm today{};
    localtime_r(&now, &today);
    chat.use_clock(today);
  }
  return chat;
}

void PromptParts::check() const {
  form.check();
  if (form.raw && template_clock)
    user_error("--template-clock: does not go with --raw, which uses no template");
  if (form.raw && !system.empty())
    user_error("--system: does not go with --raw, which has no messages");
}

PromptTokens compose_prompt(const PromptParts& parts, const std::vector<std::string>& texts,
                            const Engine& engine) {
  size_t replaced = 0;
  PromptTokens prompt =
      prompt_tokens(engine.tokenizer(), text_of(parts, texts, engine), parts.question, &replaced);
  warn_replaced(parts.system.empty() ? "the question" : "the question or --system", replaced);
  return prompt;
}

std::vector<int32_t> compose_before_question(const PromptParts& parts,
                                             const std::vector<std::string>& texts,
                                             const Engine& engine) {
  if (is_blank(join_documents(texts, ""))) refuse_empty_prompt();
  const auto asking = [&](const std::string& question) {
    PromptParts asked = parts;
    asked.question = question;
    return text_of(asked, texts, engine);
  };
  size_t replaced = 0;
  std::vector<int32_t> tokens = tokens_before_question(engine.tokenizer(), asking, &replaced);
  warn_replaced("--system", replaced);
  if (tokens.empty()) user_error("the texts give no tokens that are the same for every question");
  return tokens;
}

}  // namespace longhaul
