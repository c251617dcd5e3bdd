#include "engine/prompt_tokens.h"

#include <algorithm>

#include "base/error.h"
#include "text/utf8.h"

namespace longhaul {

std::string PromptText::text() const {
  std::string all;
  for (const TextSegment& segment : segments) all += segment.text;
  return all;
}

PromptText chat_prompt(const ChatTemplate& chat, std::span<const ChatMessage> messages,
                       std::string opening) {
  PromptText prompt{chat.segments(messages, true), false};
  if (!opening.empty()) prompt.segments.push_back({std::move(opening), false});
  return prompt;
}

PromptText bare_prompt(std::string text, bool control_tokens) {
  PromptText prompt{{}, true};
  prompt.segments.push_back({std::move(text), control_tokens});
  return prompt;
}

PromptTokens prompt_tokens(const Tokenizer& tokenizer, const PromptText& prompt,
                           std::string_view question, size_t* replaced) {
  PromptTokens made;
  made.tokens = tokenizer.encode(prompt.segments, prompt.add_special, replaced);
  if (made.tokens.empty()) user_error("the prompt is empty: it gives no tokens");
  if (question.empty()) return made;
  // The position of the question is searched in the final text, because templates may trim
  // messages. Invalid UTF-8 was replaced before tokenization, so the same replacement is made in
  // the question.
  std::string repaired_text, repaired_question;
  const std::string whole = prompt.text();
  size_t ignored = 0;
  const std::string_view text = repair_utf8(whole, repaired_text, &ignored);
  const std::string_view asked = repair_utf8(question, repaired_question, &ignored);
  size_t begin = text.rfind(asked);
  if (begin == std::string_view::npos) begin = text.rfind(trim_front(trim_back(asked)));
  if (begin != std::string_view::npos) {
    made.instruction = tokenizer.tokens_of_tail(made.tokens, text.size() - begin);
  }
  return made;
}

std::vector<int32_t> further_turn_tokens(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                         const std::string& question,
                                         const std::optional<std::string>& system, bool closed,
                                         size_t* replaced) {
  std::vector<int32_t> tokens =
      tokenizer.encode(chat.further_turn(question, system), false, replaced);
  const auto is_special = [&](int32_t id) { return tokenizer.is_special(id); };
  const auto end = std::find_if(tokens.begin(), tokens.end(), is_special);
  // The template ends the previous reply with a token, perhaps after blanks. If the conversation
  // already contains this token, it is not added again.
  const bool ends = end != tokens.end() && tokenizer.end_of_message(*end) &&
                    trim_front(tokenizer.decode({tokens.begin(), end})).empty();
  if (closed && ends) tokens.erase(tokens.begin(), end + 1);
  return tokens;
}

std::vector<int32_t> tokens_before_question(
    const Tokenizer& tokenizer,
    const std::function<PromptText(const std::string& question)>& asking, size_t* replaced) {
  // The two questions have no common beginning.
  std::vector<int32_t> tokens = prompt_tokens(tokenizer, asking("What?"), "", replaced).tokens;
  const std::vector<int32_t> other = prompt_tokens(tokenizer, asking("1"), "").tokens;
  const auto [end, ignored] =
      std::mismatch(tokens.begin(), tokens.end(), other.begin(), other.end());
  tokens.erase(end, tokens.end());
  return tokens;
}

}  // namespace longhaul
