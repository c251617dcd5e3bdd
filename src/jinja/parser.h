#pragma once
// Parses the tokens of a template to a tree. The grammar is that of jinja2, with the extension for
// `break` and `continue` and with the `generation` block of Hugging Face transformers.

#include <string_view>

#include "jinja/ast.h"

namespace longhaul::jinja {

/// Parses a template. Throws SyntaxError (jinja/lexer.h) if the template is malformed or contains a
/// tag that needs other files, such as `include`.
Body parse_template(std::string_view source);

}  // namespace longhaul::jinja
