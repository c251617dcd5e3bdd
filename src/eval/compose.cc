#include "eval/compose.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <iterator>

#include "text/utf8.h"

namespace longhaul {
namespace {

/// A message about the context.
std::string with_context(const Sample& sample, const std::string& question) {
  if (sample.context.empty()) return question;
  if (question.empty()) return sample.context;
  return sample.context + sample.separator + question;
}

/// Whether the context stands before turns of an earlier conversation.
bool context_leads(const Sample& sample) { return sample.context_first && !sample.turns.empty(); }

/// The user's last message.
std::string user_text(const Sample& sample) {
  return context_leads(sample) ? sample.question : with_context(sample, sample.question);
}

std::string turn_text(const Sample& sample, const SampleTurn& turn) {
  const bool first = &turn == sample.turns.data();
  return first && context_leads(sample) ? with_context(sample, turn.content) : turn.content;
}

/// Published prompts contain their cue once; it is not added to a bare prompt that already ends
/// with it.
bool ends_with_cue(std::string_view text, const Sample& sample) {
  return trim_back(text).ends_with(trim_back(sample.opening));
}

/// Appends the opening to a bare prompt.
void open_bare(std::string& text, const Sample& sample) {
  if (ends_with_cue(text, sample)) return;
  const bool apart = !text.empty() && text.back() != ' ' && text.back() != '\n' &&
                     !sample.opening.starts_with(' ');
  text += (apart ? sample.before_opening : "") + sample.opening;
}

std::string hex_hash(const void* bytes, size_t count) {
  return fmt::format("{:016x}", XXH3_64bits(bytes, count));
}

}  // namespace

PromptText PromptComposer::text_of(const Sample& sample, bool opening) const {
  if (in_chat(sample)) {
    std::vector<ChatMessage> messages;
    const bool holds_system = chat_->holds_system();
    if (!sample.system.empty() && holds_system) {
      messages.push_back({ChatRole::system, sample.system});
    }
    for (const SampleTurn& turn : sample.turns) {
      messages.push_back(
          {turn.assistant ? ChatRole::assistant : ChatRole::user, turn_text(sample, turn)});
    }
    messages.push_back({ChatRole::user, user_text(sample)});
    if (!sample.system.empty() && !holds_system) {
      messages.front().content = sample.system + "\n\n" + messages.front().content;
    }
    return chat_prompt(*chat_, messages, opening ? sample.opening : "");
  }
  std::string text = sample.system.empty() ? "" : sample.system + "\n\n";
  for (const SampleTurn& turn : sample.turns) text += turn_text(sample, turn) + "\n\n";
  text += user_text(sample);
  if (opening) open_bare(text, sample);
  return bare_prompt(std::move(text), !chat_);
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
  if (sample.context_first) prompt.read_first = prompt.context_end;
  return prompt;
}

bool PromptComposer::opens(const Sample& sample) const {
  // a predicted text has no reply to open
  if (sample.opening.empty() || sample.perplexity) return false;
  return in_chat(sample) || !ends_with_cue(user_text(sample), sample);
}

/// None if the end of the prompt is not part of a template, or does not begin at the expected
/// control token.
std::optional<std::vector<int32_t>> PromptComposer::opened_tokens(
    const Sample& sample, const std::vector<int32_t>& unopened) const {
  if (!in_chat(sample)) return std::nullopt;
  const std::vector<TextSegment> segments = text_of(sample, false).segments;
  if (segments.empty()) return std::nullopt;
  const TextSegment& last = segments.back();
  const auto mark = std::find_if(unopened.rbegin(), unopened.rend(),
                                 [&](int32_t id) { return tokenizer_.is_special(id); });
  if (!last.parse_special || mark == unopened.rend()) return std::nullopt;
  const size_t at = last.text.rfind(tokenizer_.piece(*mark));
  if (at == std::string::npos) return std::nullopt;
  std::vector<TextSegment> end{{last.text.substr(at), true}};
  const auto begin = std::prev(mark.base());
  if (std::vector<int32_t>(begin, unopened.end()) != tokenizer_.encode(end, false)) {
    return std::nullopt;
  }
  if (!sample.question.empty() &&
      (end.front().text + sample.opening).find(sample.question) != std::string::npos) {
    return std::nullopt;  // the instruction would begin there
  }
  end.push_back({sample.opening, false});
  std::vector<int32_t> tokens(unopened.begin(), begin);
  const std::vector<int32_t> rest = tokenizer_.encode(end, false);
  tokens.insert(tokens.end(), rest.begin(), rest.end());
  return tokens;
}

int64_t PromptComposer::most_tokens(const Sample& sample) const {
  return static_cast<int64_t>(compose(sample, !sample.opening.empty()).tokens.size());
}

ComposedPrompt PromptComposer::opened(const Sample& sample, const ComposedPrompt& unopened) const {
  std::optional<std::vector<int32_t>> tokens = opened_tokens(sample, unopened.tokens);
  if (!tokens) return compose(sample, true);
  ComposedPrompt prompt = unopened;
  const auto total = static_cast<int64_t>(tokens->size());
  if (prompt.instruction > 0) {
    prompt.instruction += total - static_cast<int64_t>(unopened.tokens.size());
  }
  if (sample.context.empty()) prompt.context_begin = prompt.context_end = total;
  prompt.tokens = std::move(*tokens);
  prompt.answer.clear();
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
  if (cut.read_first > 0) cut.read_first = cut.context_end;
  return cut;
}

Sample without_context(const Sample& sample) {
  Sample question = sample;
  question.context.clear();
  return question;
}

std::string sample_hash(const Sample& sample, bool opening) {
  std::string all = sample.chat ? "chat" : "bare";
  const auto add = [&all](std::string_view part) {
    all += fmt::format("\n{} ", part.size());
    all += part;
  };
  add(sample.system);
  for (const SampleTurn& turn : sample.turns) {
    add(turn.assistant ? "assistant" : "user");
    add(turn.content);
  }
  for (const std::string* part : {&sample.context, &sample.separator, &sample.question}) add(*part);
  if (sample.context_first) add("context first");
  if (opening) add(sample.opening);
  return hex_hash(all.data(), all.size());
}

std::string prompt_hash(const std::vector<int32_t>& tokens) {
  return hex_hash(tokens.data(), tokens.size() * sizeof(int32_t));
}

}  // namespace longhaul
