#include "eval/compose.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

namespace longhaul {
namespace {

/// The user's message: context, separator and question.
std::string user_text(const Sample& sample) {
  if (sample.context.empty()) return sample.question;
  if (sample.question.empty()) return sample.context;
  return sample.context + sample.separator + sample.question;
}

}  // namespace

PromptText PromptComposer::text_of(const Sample& sample, bool opening) const {
  if (chat_ && sample.chat) {
    std::vector<ChatMessage> messages;
    const bool holds_system = chat_->holds_system();
    if (!sample.system.empty() && holds_system) {
      messages.push_back({ChatRole::system, sample.system});
    }
    for (const SampleTurn& turn : sample.turns) {
      messages.push_back({turn.assistant ? ChatRole::assistant : ChatRole::user, turn.content});
    }
    messages.push_back({ChatRole::user, user_text(sample)});
    if (!sample.system.empty() && !holds_system) {
      messages.front().content = sample.system + "\n\n" + messages.front().content;
    }
    return chat_prompt(*chat_, messages, opening ? sample.opening : "");
  }
  std::string text = sample.system.empty() ? "" : sample.system + "\n\n";
  for (const SampleTurn& turn : sample.turns) text += turn.content + "\n\n";
  text += user_text(sample);
  const bool apart = opening && !text.empty() && text.back() != ' ' && text.back() != '\n' &&
                     !sample.opening.starts_with(' ');
  if (opening) text += (apart ? " " : "") + sample.opening;
  return bare_prompt(std::move(text), false);
}

ComposedPrompt PromptComposer::compose(const Sample& sample, bool opening) const {
  const PromptText whole = text_of(sample, opening);
  ComposedPrompt prompt{prompt_tokens(tokenizer_, whole, sample.question)};
  const auto total = static_cast<int64_t>(prompt.tokens.size());
  prompt.context_begin = prompt.context_end = total;
  if (sample.context.empty()) return prompt;

  const std::string text = whole.text();
  const std::string_view context = sample.context;
  const std::string_view beginning = context.substr(0, std::min<size_t>(context.size(), 64));
  size_t first = text.find(beginning);
  if (first == std::string::npos) first = 0;
  const size_t last = std::min(text.size(), first + context.size());
  prompt.context_begin = total - tokenizer_.tokens_of_tail(prompt.tokens, text.size() - first) + 1;
  prompt.context_end = total - tokenizer_.tokens_of_tail(prompt.tokens, text.size() - last);
  prompt.context_end = std::min(prompt.context_end, total - prompt.instruction);
  prompt.context_begin = std::min(prompt.context_begin, prompt.context_end);
  return prompt;
}

ComposedPrompt cut_middle(const ComposedPrompt& prompt, int64_t tokens) {
  const auto total = static_cast<int64_t>(prompt.tokens.size());
  const int64_t context = prompt.context_end - prompt.context_begin;
  const int64_t out = std::clamp<int64_t>(total - tokens, 0, context);
  const int64_t from = prompt.context_begin + (context - out) / 2;
  ComposedPrompt cut = prompt;
  cut.tokens.erase(cut.tokens.begin() + from, cut.tokens.begin() + from + out);
  cut.context_end -= out;
  return cut;
}

Sample without_context(const Sample& sample) {
  Sample question = sample;
  question.context.clear();
  return question;
}

std::string prompt_hash(const std::vector<int32_t>& tokens) {
  return fmt::format("{:016x}", XXH3_64bits(tokens.data(), tokens.size() * sizeof(int32_t)));
}

}  // namespace longhaul
