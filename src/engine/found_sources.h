#pragma once
// Finds the passages of the given texts on which a reply, and each sentence of the reply, is based.

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
  std::vector<Passage> passages;  ///< passages for the whole reply
  std::vector<Sentence> sentences;
  /// `first_share` is the share of the attention on the texts that the first passage has. A reply
  /// is well founded if this share is at least `least_share`.
  double first_share = 0, least_share = 0;
  bool shown = false;  ///< whether the reply's tokens attended to any token of the texts

  /// Returns whether the first passage supports the reply.
  bool rests() const { return !passages.empty() && first_share >= least_share; }
};

/// Returns the passages of a reply that `watch` observed, at most `most` each. `texts` are the
/// texts in the prompt, in order. `starts_text` must be the value of GenerateOptions::starts_text.
FoundSources find_sources(const Engine& engine, std::span<const int32_t> prompt,
                          const std::vector<std::string>& texts, const SourceWatch& watch,
                          std::span<const int32_t> reply, bool starts_text, size_t most);

}  // namespace longhaul
