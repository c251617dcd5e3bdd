#pragma once
// Defines the colours and markers of all charts. Each style has its own colour, marker shape and
// dashes. Charts write the names of series next to their curves and points instead of in a legend.

#include <cstddef>
#include <string>
#include <string_view>

#include "report/svg/svg.h"

namespace longhaul {

inline constexpr double kFontSize = 12.5;  ///< size of labels, in the units of the picture

/// Returns CSS with variables and classes, for light and dark pages. The colours are those of Okabe
/// and Ito, darkened on light pages and lightened on dark pages so that coloured text is readable.
std::string_view chart_css();

/// Returns the CSS class of style number `style`. Style 0 is for dense attention and has the colour
/// of text.
std::string series_class(size_t style);
/// Returns the commands of an SVG path that draws the style's marker around a point.
std::string marker_path(size_t style, Point at, double radius);
/// Returns the SVG attribute stroke-dasharray of the style, or "" for a solid line.
std::string dashes(size_t style);

/// The fill of a heat map cell, as CSS classes and opacity. The fill of score 0 is orange, and that
/// of score 1 is blue. Scores near 0.5 have the background colour of the page.
struct ScoreFill {
  std::string_view classes;
  double opacity = 0;
};
ScoreFill score_fill(double score);

}  // namespace longhaul
