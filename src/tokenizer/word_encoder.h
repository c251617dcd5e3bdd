#pragma once
// Encodes one word to token ids. The word is split into symbols (bytes or characters), the symbols
// are merged (merge_symbols.h), and symbols that are not tokens are replaced as MergeModel
// specifies.

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

  Start start = Start::bytes;  ///< the symbols into which a word is split
  MergeTable merges;
  /// Whether a word that is a token becomes this token without merging.
  bool ignore_merges = false;
  /// Whether a character without a token is encoded as the tokens of its bytes.
  bool byte_fallback = false;
  bool fuse_unknown = false;  ///< whether consecutive unknown characters become one unknown token
  int32_t unknown = -1;       ///< token for text that cannot be encoded; -1: such text is skipped
  /// Characters that occur in tokens but are not tokens themselves. They have ids beyond the
  /// vocabulary, so that merges can contain them.
  std::unordered_map<std::string, int32_t, SeededHash> extra_characters;
};

/// Encodes words. An object must be used by one thread only, because it has a cache and memory that
/// it reuses. The vocabulary and the model must outlive it.
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
