#pragma once
// All data of a tokenizer. Loaders fill it, and Tokenizer applies it in this order: added tokens,
// normalizer, pre-tokenizer, merges, BOS and EOS.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/pre_tokenizer.h"
#include "tokenizer/turn_marks.h"
#include "tokenizer/vocabulary.h"
#include "tokenizer/word_encoder.h"

namespace longhaul {

struct TokenizerModel {
  std::string description;  ///< kind of vocabulary and pre-tokenizer, for display
  std::string source;       ///< file or folder that it was loaded from, for messages
  Vocabulary vocabulary;
  AddedTokens added;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  MergeModel merges;

  std::vector<int32_t> prefix, suffix;  ///< tokens that add_special puts before and after a text
  std::optional<int32_t> bos, eos;
  std::vector<int32_t> end_of_generation;  ///< ascending, without duplicates
  /// end_of_generation, and tokens that end one message of a reply.
  std::vector<int32_t> end_of_message;
  /// Whether decoding removes one space from the beginning of a text.
  bool drops_first_space = false;
};

/// Returns the turn marks of this vocabulary. They depend on its added tokens.
TurnMarks turn_marks(const TokenizerModel& model);

/// Sets `end_of_generation` and `end_of_message`. They consist of `ids` without ids outside the
/// vocabulary, of eos, and of control or added tokens whose text is known to end a turn. A token
/// that never ends a reply in this vocabulary (TurnMarks) is omitted, even if `ids` contains it.
void set_end_of_generation(TokenizerModel& model, std::vector<int64_t> ids);

/// Returns true if no normal token contains a space after another character. In this case no merge
/// can cross such a position, and PreTokenizer::cut_before_blanks() changes only the speed.
bool blanks_only_begin_tokens(const Vocabulary& vocabulary);

}  // namespace longhaul
