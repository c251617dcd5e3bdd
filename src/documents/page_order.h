#pragma once
// Determines the order in which the lines of a page are read. Columns are read one after another,
// and each row of a table is one line.

#include <vector>

#include "documents/page_lines.h"

namespace longhaul {

/// A line in reading order.
struct OrderedLine {
  PageLine line;
  int column = 0;  ///< number of the text column; a line across columns has a number of its own
  bool in_table = false;  ///< whether the line is a row of a table, with " | " between its cells
};

/// The space between the columns of a page. It is empty if there are no columns.
struct Gutter {
  double begin = 0, end = 0;
};

/// Returns the lines of a page in reading order. On input, `gutter` is that of the previous pages;
/// fewer lines suffice to recognise it on this page. If the page has columns, `gutter` is set to
/// that of this page.
std::vector<OrderedLine> in_reading_order(const PdfPage& page, Gutter& gutter);

/// Returns whether the text is a mark or number that begins an item of a list, such as "•", "-",
/// "(a)" or "12.".
bool is_list_mark(std::string_view word);

}  // namespace longhaul
