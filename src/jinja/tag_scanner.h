#pragma once
// Tokens inside {{ }} and {% %}.

#include <string_view>
#include <vector>

#include "jinja/lexer.h"

namespace longhaul::jinja {

/// Reads tokens from `at` on up to `close` ("}}" or "%}", possibly with - or + before it) outside
/// of brackets. Appends them, leaves `at` there and updates `line`.
void scan_tag(std::string_view source, size_t& at, int& line, std::string_view close,
              std::vector<Token>& out);

}  // namespace longhaul::jinja
