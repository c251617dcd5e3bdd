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
  bool drops_first_space = false;  ///< decoding removes one space from the beginning of a text
};

/// Texts that end a turn if they are control tokens: `<|im_end|>`, `<|eot_id|>`, ...
bool is_known_turn_end(std::string_view text);

/// Texts that end or begin a turn: also `<|im_start|>`, `[INST]`, ... Some files list them as
/// ordinary added tokens, which plain text may contain. A user's text could then end its turn and
/// begin another.
bool is_known_turn_mark(std::string_view text);

/// Fills `end_of_generation` from `ids` (ids outside the vocabulary are skipped), eos, and control
/// or added tokens with a text that is known to end a turn.
void set_end_of_generation(TokenizerModel& model, std::vector<int64_t> ids);

/// True if no normal token contains a space after another character. No merge can then cross such a
/// place, and PreTokenizer::cut_before_blanks() only changes speed.
bool blanks_only_begin_tokens(const Vocabulary& vocabulary);

}  // namespace longhaul
