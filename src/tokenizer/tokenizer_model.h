#pragma once
// TokenizerModel has all data of a tokenizer. Loaders create it. Tokenizer applies the members in
// this order: added tokens, normalizer, pre-tokenizer, merges, prefix and suffix.

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
  /// Names of the vocabulary's kind and of the pre-tokenizer, for display.
  std::string description;
  std::string source;  ///< file or folder from which it was loaded, for error messages
  Vocabulary vocabulary;
  AddedTokens added;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  MergeModel merges;

  /// Tokens before and after a text with add_special, such as BOS and EOS.
  std::vector<int32_t> prefix, suffix;
  std::optional<int32_t> bos, eos;
  std::vector<int32_t> end_of_generation;  ///< ascending, without duplicates
  /// All tokens of end_of_generation, and further tokens that end one message of a reply.
  std::vector<int32_t> end_of_message;
  /// Whether decoding removes one space from the beginning of a text.
  bool drops_first_space = false;
};

/// Returns the rules (TurnMarks) by which tokens of the model's vocabulary begin or end a turn.
/// They depend on the added tokens.
TurnMarks turn_marks(const TokenizerModel& model);

/// Sets `end_of_generation` and `end_of_message`. `ids` are the end tokens that the model's files
/// name; ids outside the vocabulary are ignored. The result also contains eos, and the control and
/// added tokens whose text is known to end a turn. A token for which TurnMarks::never_ends_reply()
/// is true is left out, even if `ids` contains it.
void set_end_of_generation(TokenizerModel& model, std::vector<int64_t> ids);

/// Returns whether no normal token contains a space after another character. If so,
/// PreTokenizer::cut_before_blanks() changes only the speed and not the result.
bool blanks_only_begin_tokens(const Vocabulary& vocabulary);

}  // namespace longhaul
