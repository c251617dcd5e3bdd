#pragma once
// Parses tokens into a tree: Jinja's grammar with loop controls and the `generation` block that
// transformers adds.

#include <string_view>

#include "jinja/ast.h"

namespace longhaul::jinja {

/// Throws SyntaxError (jinja/lexer.h), also for tags that would need other files.
Body parse_template(std::string_view source);

}  // namespace longhaul::jinja
