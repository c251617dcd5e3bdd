#pragma once

#include <string_view>

namespace longhaul {

/// Returns the style sheet of the HTML report. Its colours are variables that chart_css() defines.
std::string_view page_css();

}  // namespace longhaul
