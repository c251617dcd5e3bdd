#pragma once
// Converts the text of a template to tokens. White space is removed as in jinja2 with the settings
// trim_blocks and lstrip_blocks, which Hugging Face transformers uses.

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
  std::string text;  ///< source text of the token; for strings, the value without quotes and with
                     ///< escapes replaced
  int line = 0;
};

/// A syntax error in the text of a template, with its line number. Template converts it to a
/// UserError.
struct SyntaxError {
  std::string message;
  int line;
};

/// Returns the tokens of `source`. The last token is of kind `end`. Throws SyntaxError.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace longhaul::jinja
