#pragma once
// Contains the script of the HTML report, which sorts and filters tables. If a browser does not run
// scripts, the page shows the same content unsorted.

#include <string_view>

namespace longhaul {

/// Returns the script. It contains no '<' or '&', so that the page is well-formed XML.
std::string_view page_script();

}  // namespace longhaul
