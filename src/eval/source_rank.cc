#include "eval/source_rank.h"

#include <algorithm>

#include "engine/passages.h"

namespace longhaul {

int64_t source_rank(const Tokenizer& tokenizer, const ComposedPrompt& prompt,
                    const SourceWatch& watch, std::span<const int32_t> reply) {
  constexpr size_t kMost = 10;
  std::string context;
  for (int64_t i = prompt.context_begin; i < prompt.context_end; ++i) {
    context += tokenizer.piece(prompt.tokens[static_cast<size_t>(i)]);
  }
  const PassageFinder finder(tokenizer, prompt.tokens, {context});
  const auto passages = finder.passages(watch, reply, 0, reply.size(), kMost);
  const auto found = std::ranges::find_if(passages, [&](const Passage& passage) {
    return std::ranges::any_of(prompt.answer,
                               [&](int64_t token) { return finder.holds(passage, token); });
  });
  return found == passages.end() ? 0 : 1 + (found - passages.begin());
}

}  // namespace longhaul
