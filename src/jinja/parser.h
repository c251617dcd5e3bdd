#pragma once
// Parses the tokens of a template to a tree. The grammar is Jinja's, with loop controls and the
// `generation` block that transformers adds.

#include <string_view>

#include "jinja/ast.h"

namespace longhaul::jinja {

/// Parses a template. Throws SyntaxError (jinja/lexer.h), also for tags that would need other
/// files.
Body parse_template(std::string_view source);

}  // namespace longhaul::jinja
