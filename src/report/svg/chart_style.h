#pragma once
// Colours and marks of all charts. Series differ in colour, marker shape and dashes, and are
// labelled beside their marks.

#include <cstddef>
#include <string>
#include <string_view>

#include "report/svg/svg.h"

namespace longhaul {

inline constexpr double kFontSize = 12.5;  ///< for labels, in the picture's units

/// Variables and classes for light and dark pages. Colours are Okabe and Ito's, darkened or
/// lightened until text in them is readable on the page.
std::string_view chart_css();

/// Style 0 is dense attention's: the text colour.
std::string series_class(size_t style);
/// Path commands for the series' marker around a point.
std::string marker_path(size_t style, Point at, double radius);
/// "" or a stroke-dasharray.
std::string dashes(size_t style);

/// The fill for a score in 0..1, as class and opacity: from orange (lost) through the page's own
/// colour to blue (found).
struct ScoreFill {
  std::string_view classes;
  double opacity = 0;
};
ScoreFill score_fill(double score);

}  // namespace longhaul
