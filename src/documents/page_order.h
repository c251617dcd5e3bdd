#pragma once
// Determines the order in which readers read the lines of a page. Columns are read one after
// another. A row of a table becomes one line.

#include <vector>

#include "documents/page_lines.h"

namespace longhaul {

/// A line in reading order.
struct OrderedLine {
  PageLine line;
  /// Number of the text column; a line that extends over several columns has another number.
  int column = 0;
  bool in_table = false;  ///< whether the line is a row of a table, with " | " between its cells
};

/// The gutter: the range of x coordinates between the two columns of a page. It is empty if the
/// page has no columns.
struct Gutter {
  double begin = 0, end = 0;
};

/// Returns the lines of a page in reading order. On input, `gutter` is the gutter of the previous
/// page. If this page has columns at the same place, fewer lines suffice to recognise them. On
/// return, `gutter` is the gutter of this page if the page has columns, and is otherwise unchanged.
std::vector<OrderedLine> in_reading_order(const PdfPage& page, Gutter& gutter);

/// Returns whether the text is a mark or number that begins an item of a list, such as "•", "-",
/// "(a)" or "12.".
bool is_list_mark(std::string_view word);

}  // namespace longhaul
