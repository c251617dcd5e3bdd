#pragma once
// Reads the tokens inside the tags {{ }} and {% %}.

#include <string_view>
#include <vector>

#include "jinja/lexer.h"

namespace longhaul::jinja {

/// Reads the tokens of `source` from `at` to the end of the tag, and appends them to `out`. The tag
/// ends at the first `close` ("}}" or "%}", possibly preceded by - or +) that is not inside
/// brackets. Sets `at` to the position of `close`, and adds the number of line breaks to `line`.
void scan_tag(std::string_view source, size_t& at, int& line, std::string_view close,
              std::vector<Token>& out);

}  // namespace longhaul::jinja
