#pragma once
// Encodes one word to token ids: it divides the word into symbols (bytes or characters), merges
// them, and applies fallbacks.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/seeded_hash.h"
#include "tokenizer/merge_symbols.h"
#include "tokenizer/merge_table.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/word_cache.h"

namespace longhaul {

struct MergeModel {
  enum class Start { bytes, characters };

  Start start = Start::bytes;  ///< symbols of a word before the first merge
  MergeTable merges;
  bool ignore_merges = false;  ///< whether a word that is a token is not split and merged
  /// Whether a character without a token is encoded as the tokens of its bytes.
  bool byte_fallback = false;
  bool fuse_unknown = false;  ///< whether consecutive unknown characters become one unknown token
  int32_t unknown = -1;       ///< token for text that cannot be encoded; -1: such text is skipped
  /// Characters that occur in tokens but are not tokens themselves. They get ids beyond the
  /// vocabulary, so that they can take part in merges.
  std::unordered_map<std::string, int32_t, SeededHash> extra_characters;
};

/// Encodes words on one thread. The object has scratch memory and a cache. The vocabulary and the
/// model must outlive it.
class WordEncoder {
 public:
  WordEncoder(const Vocabulary& vocabulary, const MergeModel& model)
      : vocabulary_(vocabulary), model_(model) {}

  /// Appends the ids of the word, which must be valid UTF-8 and not empty.
  void encode(std::string_view word, std::vector<int32_t>& ids);

 private:
  void encode_anew(std::string_view word, std::vector<int32_t>& ids);
  void start_symbols(std::string_view word);
  int32_t character_symbol(std::string_view character) const;
  bool emit_bytes(std::string_view bytes, std::vector<int32_t>& ids) const;

  const Vocabulary& vocabulary_;
  const MergeModel& model_;
  SymbolMerger merger_;
  WordCache cache_;
  std::vector<Symbol> symbols_;
};

}  // namespace longhaul
