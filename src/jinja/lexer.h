#pragma once
// A template's text as tokens. White space is taken away as jinja2 does it with the settings of
// Hugging Face transformers: trim_blocks and lstrip_blocks.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace longhaul::jinja {

enum class TokenKind : uint8_t {
  data,  ///< text that is written as it is
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
  std::string text;  ///< of strings without quotes and escapes
  int line = 0;
};

/// A mistake in a template's text, with its line. Template makes a UserError of it.
struct SyntaxError {
  std::string message;
  int line;
};

/// Throws SyntaxError. The last token is of kind `end`.
std::vector<Token> tokens_of(std::string_view source);

}  // namespace longhaul::jinja
