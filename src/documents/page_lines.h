#pragma once
// Reads the lines of a PDF's pages with their positions from the output of pdftotext.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// If the distance between two words is at least this many points, they may belong to different
/// columns or table cells.
inline constexpr double kWideGap = 7;

/// A line: words on one baseline, with distances below kWideGap. Coordinates are in points from the
/// left and upper edge of the page.
struct PageLine {
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  double first_word = 0;    ///< width of the first word in reading direction
  double widest_space = 0;  ///< width of the widest space between words
  std::string text;         ///< UTF-8 in logical order, not empty
  /// Whether the line ends with a soft hyphen, so that its last word continues in the next line.
  bool soft_hyphen = false;

  double height() const { return y1 - y0; }
};

struct PdfPage {
  std::vector<PageLine> lines;  ///< in the order of pdftotext's output
};

/// Parses the output of `pdftotext -bbox-layout`. Returns no pages if `xml` has another form.
std::vector<PdfPage> pages_with_boxes(std::string_view xml);

/// Parses the plain output of pdftotext, in which a form feed ends each page. The coordinates of
/// the result are counted in characters and lines.
std::vector<PdfPage> plain_pages(std::string_view text);

/// Converts the text of a line from visual order (left to right on the page) to reading order.
/// Hebrew and Arabic runs are reversed, and brackets in them are mirrored. Numbers keep their
/// order.
std::string logical_order(std::string_view visual);

/// Returns whether most letters of the text belong to scripts that are written from right to left.
bool reads_leftwards(std::string_view text);

}  // namespace longhaul
