#pragma once
// Finds the sources of a reply: the sentences (passages) of the prompt's texts to which the model
// attended most while it generated the reply. Sources are found for the whole reply and for each
// sentence of the reply.

#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/passages.h"

namespace longhaul {

struct FoundSources {
  struct Sentence {
    ByteRange range;  ///< bytes of the sentence in the reply's text
    std::vector<Passage> passages;
  };
  std::vector<Passage> passages;  ///< passages for the whole reply, best first
  std::vector<Sentence> sentences;
  /// `first_share` is the attention that the first passage received, divided by the attention that
  /// all texts received. The reply counts as based on this passage if first_share is at least
  /// `least_share`.
  double first_share = 0, least_share = 0;
  bool shown = false;  ///< whether any observed token of the reply attended to the prompt

  /// Returns whether the reply counts as based on the first passage.
  bool rests() const { return !passages.empty() && first_share >= least_share; }
};

/// Returns the passages for a reply that `watch` observed: at most `most` for the reply, and at
/// most `most` for each sentence. `texts` are the texts in the prompt, in order. `starts_text` must
/// be the value of GenerateOptions::starts_text.
FoundSources find_sources(const Engine& engine, std::span<const int32_t> prompt,
                          const std::vector<std::string>& texts, const SourceWatch& watch,
                          std::span<const int32_t> reply, bool starts_text, size_t most);

}  // namespace longhaul
