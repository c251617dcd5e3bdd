#pragma once
// The page's own script: sorting and filtering. Without it the page shows the same, unsorted.

#include <string_view>

namespace longhaul {

/// Free of '<' and '&', so that the page stays well-formed XML.
std::string_view page_script();

}  // namespace longhaul
