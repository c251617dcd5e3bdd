#pragma once
// A table of the report before it is written: HTML and Markdown print the same cells.

#include <optional>
#include <string>
#include <vector>

namespace longhaul {

struct TableCell {
  std::string text;
  std::string detail = {};   ///< an interval: HTML prints it small below, Markdown in brackets
  std::string tooltip = {};  ///< what the pointer shows in HTML
  std::string classes = {};  ///< of html_style.h
  double tint = 0;           ///< of the classes "good" and "bad", per cent
  std::optional<double> value = {};  ///< what its column sorts by; none: behind all others
};

struct TableColumn {
  std::string title;
  std::string tooltip = {};
  bool less_is_better = false;  ///< sorting begins with the smallest
  bool words = false;           ///< set to the left
};

struct TableRow {
  std::string head;
  std::string method = {};  ///< canonical text, shown under the pointer; "": no method's row
  bool control = false;     ///< stands behind a line
  std::vector<TableCell> cells = {};
};

struct ReportTable {
  std::vector<TableColumn> columns;  ///< of the rows' heads, then of each cell
  std::vector<TableRow> rows;
};

/// Rows can be sorted by a click on a column's head (html_script.h).
std::string html_table(const ReportTable& table);

/// Columns aligned, so that the source reads as a table too; an empty line behind it.
std::string markdown_table(const ReportTable& table);

}  // namespace longhaul
