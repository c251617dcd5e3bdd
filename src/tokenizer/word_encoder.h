#pragma once
// Encodes one word to token ids: symbols (bytes or characters), merges, and fallbacks.

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

  Start start = Start::bytes;  ///< a word's symbols before the first merge
  MergeTable merges;
  bool ignore_merges = false;  ///< a word that is a token is not split further
  bool byte_fallback = false;  ///< characters without a token become their bytes' tokens
  bool fuse_unknown = false;   ///< a run of unknown characters is one unknown token
  int32_t unknown = -1;        ///< token for text that cannot be encoded; -1: it is skipped
  /// Characters that occur in tokens but have no token of their own. They get symbols beyond the
  /// vocabulary, so that they can take part in merges.
  std::unordered_map<std::string, int32_t, SeededHash> extra_characters;
};

/// Scratch memory and cache for one thread; the vocabulary and the model must outlive it.
class WordEncoder {
 public:
  WordEncoder(const Vocabulary& vocabulary, const MergeModel& model)
      : vocabulary_(vocabulary), model_(model) {}

  /// Appends the word's ids. `word` must be non-empty, valid UTF-8.
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
