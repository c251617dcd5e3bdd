#pragma once

#include <string_view>

namespace longhaul {

/// The page's style; colours are chart_css()'s variables.
std::string_view page_css();

}  // namespace longhaul
