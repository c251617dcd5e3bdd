#pragma once
// Everything that makes up a tokenizer, as loaders fill it and Tokenizer runs it:
// added tokens -> normalizer -> pre-tokenizer -> merges -> BOS and EOS.

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
  std::string description;  ///< kind and pre-tokenizer, for people
  std::string source;       ///< the file or folder that it came from, for messages
  Vocabulary vocabulary;
  AddedTokens added;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  MergeModel merges;

  std::vector<int32_t> prefix, suffix;  ///< what add_special puts around a text
  std::optional<int32_t> bos, eos;
  std::vector<int32_t> end_of_generation;  ///< ascending, without repeats
  bool drops_first_space = false;  ///< decoding takes one space from the beginning of a text
};

/// Texts that end a turn wherever they are control tokens: `<|im_end|>`, `<|eot_id|>`, ...
bool is_known_turn_end(std::string_view text);

/// These, and texts that begin a turn: `<|im_start|>`, `[INST]`, ... Some files list them as
/// ordinary added tokens, which plain text may contain: a user's text could then end its turn and
/// begin another.
bool is_known_turn_mark(std::string_view text);

/// Fills `end_of_generation` from `ids` (ids outside the vocabulary are left out), eos, and control
/// or added tokens with a text that is known to end a turn.
void set_end_of_generation(TokenizerModel& model, std::vector<int64_t> ids);

/// True when no normal token holds a space behind something else: then no merge can cross such a
/// place, and PreTokenizer::cut_before_blanks() changes nothing but speed.
bool blanks_only_begin_tokens(const Vocabulary& vocabulary);

}  // namespace longhaul
