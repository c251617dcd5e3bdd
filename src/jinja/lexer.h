#pragma once
// Splits the text of a template into tokens. White space around tags is removed as jinja2 does with
// the settings trim_blocks and lstrip_blocks, which Hugging Face transformers uses.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::jinja {

enum class TokenKind : uint8_t {
  data,  ///< literal text
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  real,
  symbol,
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  /// Source text of the token. For a string literal, the value of the literal: without quotes, and
  /// with escapes replaced.
  std::string text;
  int line = 0;
};

/// A syntax error in the text of a template, with its line number. Template converts it to a
/// UserError.
struct SyntaxError {
  std::string message;
  int line;
};

/// Returns the tokens of `source`. The last token is of kind `end`. Throws SyntaxError if a tag is
/// not closed or contains an invalid token.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace longhaul::jinja
