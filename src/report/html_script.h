#pragma once
// The script of the page, for sorting and filtering. Without the script the page shows the same
// content, unsorted.

#include <string_view>

namespace longhaul {

/// Returns the script. It contains no '<' or '&', so that the page is well-formed XML.
std::string_view page_script();

}  // namespace longhaul
