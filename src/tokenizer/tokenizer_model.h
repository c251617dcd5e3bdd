#pragma once
// All data of a tokenizer, filled by loaders and run by Tokenizer:
//  added tokens -> normalizer -> pre-tokenizer -> merges -> BOS and EOS.

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
  std::string description;  ///< kind and pre-tokenizer, for display
  std::string source;       ///< the file or folder of origin, for messages
  Vocabulary vocabulary;
  AddedTokens added;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  MergeModel merges;

  std::vector<int32_t> prefix, suffix;  ///< tokens that add_special puts around a text
  std::optional<int32_t> bos, eos;
  std::vector<int32_t> end_of_generation;  ///< ascending, without repeats
  std::vector<int32_t> end_of_message;     ///< these, and tokens that end a part of a reply
  bool drops_first_space = false;  ///< decoding removes one space from the beginning of a text
};

/// The marks of this vocabulary's turns, by its added tokens.
TurnMarks turn_marks(const TokenizerModel& model);

/// Fills `end_of_generation` and `end_of_message` from `ids` (ids outside the vocabulary are left
/// out), eos, and control or added tokens with a text that is known to end a turn. A token that
/// never ends a reply of this vocabulary (TurnMarks) is left out even where `ids` names it.
void set_end_of_generation(TokenizerModel& model, std::vector<int64_t> ids);

/// True if no normal token contains a space after another character. No merge can then cross such a
/// place, and PreTokenizer::cut_before_blanks() only changes speed.
bool blanks_only_begin_tokens(const Vocabulary& vocabulary);

}  // namespace longhaul
