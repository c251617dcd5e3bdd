#pragma once
// The passages that a reply and each of its sentences draw on.

#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/passages.h"

namespace longhaul {

struct FoundSources {
  struct Sentence {
    ByteRange range;  ///< within the reply's text
    std::vector<Passage> passages;
  };
  std::vector<Passage> passages;  ///< passages of the whole reply
  std::vector<Sentence> sentences;
  /// Share of the attention on the texts that the first passage has, and the least share that a
  /// well-founded reply has.
  double first_share = 0, least_share = 0;
  bool shown = false;  ///< false: the reply saw no token of the texts

  bool rests() const { return !passages.empty() && first_share >= least_share; }
};

/// The passages of a reply that `watch` observed. `texts`: those in the prompt, in order.
/// `starts_text` must equal that of the generation (GenerateOptions).
FoundSources find_sources(const Engine& engine, std::span<const int32_t> prompt,
                          const std::vector<std::string>& texts, const SourceWatch& watch,
                          std::span<const int32_t> reply, bool starts_text, size_t most);

}  // namespace longhaul
