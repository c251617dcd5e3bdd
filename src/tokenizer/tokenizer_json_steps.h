#pragma once
// Reads the members normalizer, pre_tokenizer and post_processor of tokenizer.json, which describe
// steps of tokenization. Each function add_...() adds the steps to the model, and throws UserError
// if a step is not supported.

#include "tokenizer/json_fields.h"
#include "tokenizer/tokenizer_model.h"

namespace longhaul {

/// The way in which the tokens of the vocabulary are written in the file.
struct TokenizerJsonStyle {
  bool byte_level = false;      ///< whether tokens are written in GPT-2's byte alphabet
  bool visible_blanks = false;  ///< whether tokens are written with U+2581 for a space
};

/// Determines the style from the members of the file that indicate it.
TokenizerJsonStyle find_style(const JsonField& root);

void add_normalizer(TokenizerModel& model, const JsonField& step, const TokenizerJsonStyle& style);
void add_pre_tokenizer(TokenizerModel& model, const JsonField& step);
void add_post_processor(TokenizerModel& model, const JsonField& step);
/// Returns whether decoding removes one space from the beginning of a text.
bool decoder_drops_first_space(const JsonField& decoder);

}  // namespace longhaul
