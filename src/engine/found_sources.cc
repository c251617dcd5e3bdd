#include "engine/found_sources.h"

#include <algorithm>

#include "tokenizer/detokenizer.h"

namespace longhaul {
namespace {

/// Returns, for each token of the reply, the offset in the reply's text at which the text of the
/// token ends.
std::vector<size_t> ends_in_text(const Tokenizer& tokenizer, std::span<const int32_t> reply,
                                 bool starts_text) {
  Detokenizer detokenizer(tokenizer, {.skip_special = true, .starts_text = starts_text});
  std::vector<size_t> ends;
  size_t at = 0;
  for (const int32_t token : reply) ends.push_back(at += detokenizer.push(token).size());
  return ends;
}

std::string decoded_reply(const Tokenizer& tokenizer, std::span<const int32_t> reply,
                          bool starts_text) {
  Detokenizer detokenizer(tokenizer, {.skip_special = true, .starts_text = starts_text});
  std::string text;
  for (const int32_t token : reply) text += detokenizer.push(token);
  return text;
}

}  // namespace

FoundSources find_sources(const Engine& engine, std::span<const int32_t> prompt,
                          const std::vector<std::string>& texts, const SourceWatch& watch,
                          std::span<const int32_t> reply, bool starts_text, size_t most) {
  const Tokenizer& tokenizer = engine.tokenizer();
  const PassageFinder finder(tokenizer, prompt, texts);
  FoundSources found;
  found.shown = watch.saw_anything();
  found.passages = finder.passages(watch, reply, 0, reply.size(), most);
  found.first_share = found.passages.empty() ? 0 : found.passages.front().share;
  // Scores without RoPE are less concentrated: in correct replies of nano, the right passage
  // received 84 to 94 % of the attention instead of 99 %.
  constexpr double kWithoutPositions = 0.8;
  found.least_share = least_share_of_first_passage(engine.model().shape) *
                      (watch.without_positions() ? kWithoutPositions : 1);
  const std::vector<size_t> ends = ends_in_text(tokenizer, reply, starts_text);
  for (const ByteRange& sentence : sentences_of(decoded_reply(tokenizer, reply, starts_text))) {
    // The tokens whose text ends within the sentence.
    const auto first = std::ranges::upper_bound(ends, sentence.begin) - ends.begin();
    const auto last = std::ranges::upper_bound(ends, sentence.end) - ends.begin();
    found.sentences.push_back({sentence, finder.passages(watch, reply, static_cast<size_t>(first),
                                                         static_cast<size_t>(last), most)});
  }
  return found;
}

}  // namespace longhaul
