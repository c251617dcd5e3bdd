#pragma once
// A table of the report before it is formatted. HTML and Markdown print the same cells.

#include <optional>
#include <string>
#include <vector>

namespace longhaul {

struct TableCell {
  std::string text;
  std::string detail = {};   ///< an interval; small below the text in HTML, in brackets in Markdown
  std::string tooltip = {};  ///< text under the pointer in HTML
  std::string classes = {};  ///< CSS classes of html_style.h
  double tint = 0;           ///< strength of the classes "good" and "bad", in per cent
  std::optional<double> value = {};  ///< sort key; empty: sorted after all others
};

struct TableColumn {
  std::string title;
  std::string tooltip = {};
  bool less_is_better = false;  ///< whether sorting begins with the smallest value
  bool words = false;           ///< whether the column contains words and is left-aligned
};

struct TableRow {
  std::string head;
  /// Canonical text of the method, shown under the pointer; empty: not a method's row.
  std::string method = {};
  bool control = false;  ///< whether a line separates the row from the other rows
  std::vector<TableCell> cells = {};
};

struct ReportTable {
  std::vector<TableColumn> columns;  ///< the first column contains the heads of the rows
  std::vector<TableRow> rows;
};

/// Returns the table in HTML. Rows can be sorted by a click on a column's head (html_script.h).
std::string html_table(const ReportTable& table);

/// Returns the table in Markdown, followed by an empty line. Columns are aligned, so that the
/// source is readable as a table.
std::string markdown_table(const ReportTable& table);

}  // namespace longhaul
