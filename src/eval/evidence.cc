#include "eval/evidence.h"

#include <algorithm>

#include "eval/answer_recall.h"

namespace longhaul {
namespace {

bool ends_sentence(std::string_view text, size_t at) {
  if (text[at] == '\n') return true;
  const bool mark = text[at] == '.' || text[at] == '!' || text[at] == '?';
  return mark && (at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\n');
}

/// Bytes [begin, end) extended to whole sentences, without the blanks before them.
std::pair<size_t, size_t> widened(std::string_view text, size_t begin, size_t end) {
  while (begin > 0 && !ends_sentence(text, begin - 1)) --begin;
  while (begin < end && (text[begin] == ' ' || text[begin] == '\n')) ++begin;
  while (end < text.size() && !ends_sentence(text, end - 1)) ++end;
  return {begin, end};
}

}  // namespace

std::vector<TokenRange> evidence_in(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                                    std::span<const std::string> answers) {
  if (answers.empty()) return {};
  const ContextText context(tokenizer, prompt);
  std::vector<TokenRange> found;
  for (const int64_t token : answer_tokens(context, answers)) {
    if (!found.empty() && token < found.back().end) continue;
    const TokenSpan& span = context.span_of(token);
    const auto [begin, end] = widened(context.text, span.begin, span.begin + span.piece.size());
    found.push_back({context.token_at(begin), context.token_at(end - 1) + 1});
  }
  return found;
}

std::vector<int64_t> evidence_tokens(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                                     std::span<const std::string> answers) {
  std::vector<int64_t> tokens;
  for (const TokenRange& range : evidence_in(tokenizer, prompt, answers)) {
    for (int64_t token = range.begin; token < range.end; ++token) tokens.push_back(token);
  }
  return tokens;
}

int64_t block_of(const TokenRange& range, int64_t init, int64_t block, int64_t tokens) {
  if (range.begin < init || range.length() <= 0) return -1;
  int64_t best = -1, most = 0;
  for (int64_t first = init + (range.begin - init) / block * block; first < range.end;
       first += block) {
    const int64_t shared = std::min(first + block, range.end) - std::max(first, range.begin);
    if (shared > most) best = first;
    most = std::max(most, shared);
  }
  return best + block <= tokens ? best : -1;
}

}  // namespace longhaul
