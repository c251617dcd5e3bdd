#pragma once
// The page's script for sorting and filtering. Without it the page shows the same content,
// unsorted.

#include <string_view>

namespace longhaul {

/// Returns the script. It contains no '<' or '&', so that the page is well-formed XML.
std::string_view page_script();

}  // namespace longhaul
