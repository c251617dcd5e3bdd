#pragma once

#include <string_view>

namespace longhaul {

/// Returns the style sheet of the page. Its colours are variables of chart_css().
std::string_view page_css();

}  // namespace longhaul
