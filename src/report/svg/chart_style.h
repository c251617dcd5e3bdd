#pragma once
// Colours and marks of all charts. A series is told apart by colour, by its marker's shape and by
// its dashes, and it is named beside its mark.

#include <cstddef>
#include <string>
#include <string_view>

#include "report/svg/svg.h"

namespace longhaul {

inline constexpr double kFontSize = 12.5;  ///< of labels, in the pictures' units

/// Variables and classes, light and dark. Colours: Okabe and Ito's, darkened or lightened until
/// text in them is readable on the page.
std::string_view chart_css();

/// Style 0 is dense attention's: the colour of the text.
std::string series_class(size_t style);
/// Path commands of the series' marker around a point.
std::string marker_path(size_t style, Point at, double radius);
/// "" or a stroke-dasharray.
std::string dashes(size_t style);

/// The fill of a score in 0..1: from orange (lost) through the page's own colour to blue (found).
/// Gives the class and the opacity.
struct ScoreFill {
  std::string_view classes;
  double opacity = 0;
};
ScoreFill score_fill(double score);

}  // namespace longhaul
