#pragma once
// Colours and marks of all charts. Series differ in colour, marker shape and dashes. Their names
// are next to their marks.

#include <cstddef>
#include <string>
#include <string_view>

#include "report/svg/svg.h"

namespace longhaul {

inline constexpr double kFontSize = 12.5;  ///< size of labels, in the units of the picture

/// Returns variables and classes for light and dark pages. The colours are those of Okabe and Ito,
/// darkened or lightened so that text in them is readable on the page.
std::string_view chart_css();

/// Returns the class of a series. Style 0 is for dense attention and has the colour of text.
std::string series_class(size_t style);
/// Returns path commands for the series' marker around a point.
std::string marker_path(size_t style, Point at, double radius);
/// Returns a stroke-dasharray, or "" for a solid line.
std::string dashes(size_t style);

/// The fill of a cell with a score from 0 to 1, as class and opacity. The colours range from orange
/// (0) through the background colour of the page to blue (1).
struct ScoreFill {
  std::string_view classes;
  double opacity = 0;
};
ScoreFill score_fill(double score);

}  // namespace longhaul
