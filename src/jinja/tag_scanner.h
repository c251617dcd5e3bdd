#pragma once
// Tokens inside of {{ }} and {% %}.

#include <string_view>
#include <vector>

#include "jinja/lexer.h"

namespace longhaul::jinja {

/// Reads tokens from `at` on until `close` ("}}" or "%}", perhaps with - or + before it) stands
/// outside of brackets; appends them and leaves `at` there. `line` is kept up to date.
void scan_tag(std::string_view source, size_t& at, int& line, std::string_view close,
              std::vector<Token>& out);

}  // namespace longhaul::jinja
