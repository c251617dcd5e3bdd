#pragma once
// Converts a template's text to tokens. White space is removed as in jinja2 with the settings of
// Hugging Face transformers: trim_blocks and lstrip_blocks.

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
  std::string text;  ///< for strings without quotes and escapes
  int line = 0;
};

/// A syntax error in a template's text, with its line. Template turns it into a UserError.
struct SyntaxError {
  std::string message;
  int line;
};

/// Throws SyntaxError. The last token is of kind `end`.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace longhaul::jinja
