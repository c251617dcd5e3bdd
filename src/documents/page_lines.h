#pragma once
// Reads the lines of a PDF's pages with their positions from the output of pdftotext.

#include <string>
#include <string_view>
#include <vector>

namespace longhaul {

/// Least distance in points between two words that may belong to different columns or cells.
inline constexpr double kWideGap = 7;

/// Words on one baseline without wide gaps between them. Coordinates are points from the left and
/// upper edge of the page.
struct PageLine {
  double x0 = 0, x1 = 0, y0 = 0, y1 = 0;
  double first_word = 0;     ///< width of the first word in reading direction
  double widest_space = 0;   ///< width of the widest space between words
  std::string text;          ///< UTF-8 in logical order, not empty
  bool soft_hyphen = false;  ///< whether the last word continues in the next line

  double height() const { return y1 - y0; }
};

struct PdfPage {
  std::vector<PageLine> lines;  ///< in the order of the program's output
};

/// Parses the output of `pdftotext -bbox-layout`. Input of another form yields no pages.
std::vector<PdfPage> pages_with_boxes(std::string_view xml);

/// Parses plain output, in which a form feed ends each page. Positions count characters and lines.
std::vector<PdfPage> plain_pages(std::string_view text);

/// Converts the text of a line from visual order (left to right on the page) to reading order.
/// Hebrew and Arabic runs are reversed, and brackets in them are mirrored. Numbers keep their
/// order.
std::string logical_order(std::string_view visual);

/// Returns whether more letters are written from right to left than from left to right.
bool reads_leftwards(std::string_view text);

}  // namespace longhaul
