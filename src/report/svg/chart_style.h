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

/// Returns the class of a series. Style 0 is for dense attention and has the colour of text.
std::string series_class(size_t style);
/// Returns path commands for the series' marker around a point.
std::string marker_path(size_t style, Point at, double radius);
/// Returns a stroke-dasharray, or "" for a solid line.
std::string dashes(size_t style);

/// The fill for a score in 0..1, as class and opacity. It runs from orange (0) through the page's
/// background colour to blue (1).
struct ScoreFill {
  std::string_view classes;
  double opacity = 0;
};
ScoreFill score_fill(double score);

}  // namespace longhaul
