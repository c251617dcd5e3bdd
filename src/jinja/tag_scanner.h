#pragma once
// Reads the tokens inside {{ }} and {% %}.

#include <string_view>
#include <vector>

#include "jinja/lexer.h"

namespace longhaul::jinja {

/// Reads tokens from `at` up to `close` ("}}" or "%}", possibly preceded by - or +) outside of
/// brackets, and appends them. Sets `at` to the position of `close` and updates `line`.
void scan_tag(std::string_view source, size_t& at, int& line, std::string_view close,
              std::vector<Token>& out);

}  // namespace longhaul::jinja
