#pragma once
// The order in which the lines of a page are read: columns one after the other, rows of tables as
// one line each.

#include <vector>

#include "documents/page_lines.h"

namespace longhaul {

/// A line in reading order.
struct OrderedLine {
  PageLine line;
  int column = 0;  ///< number of the column of text; a line across columns has its own number
  bool in_table = false;  ///< a row of a table: its cells are separated by " | "
};

/// The space between the columns of a page; empty if there are none.
struct Gutter {
  double begin = 0, end = 0;
};

/// `gutter` is that of the previous pages. Fewer lines suffice to find it again on this page. If
/// columns are found, it becomes that of this page.
std::vector<OrderedLine> in_reading_order(const PdfPage& page, Gutter& gutter);

/// Returns whether the text is a mark or number that begins an item of a list: "•", "-", "(a)",
/// "12.".
bool is_list_mark(std::string_view word);

}  // namespace longhaul
