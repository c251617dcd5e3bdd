#pragma once
// Defines a table of the report, and functions that format it as HTML or Markdown.

#include <optional>
#include <string>
#include <vector>

namespace longhaul {

struct TableCell {
  std::string text;
  /// Additional text, such as an interval. HTML shows it in small letters below `text`, and
  /// Markdown in brackets.
  std::string detail = {};
  std::string tooltip = {};  ///< text under the pointer in HTML
  std::string classes = {};  ///< CSS classes of html_style.h
  /// Strength of the colours of the classes "good" and "bad", in per cent.
  double tint = 0;
  std::optional<double> value = {};  ///< number by which rows are sorted; empty: after all others
};

struct TableColumn {
  std::string title;
  std::string tooltip = {};
  bool less_is_better = false;  ///< whether sorting begins with the smallest value
  bool words = false;           ///< whether the column contains words and is left-aligned
};

struct TableRow {
  std::string head;
  /// Canonical text of the method, which is shown when the pointer is on the head. Empty if the row
  /// does not describe a method.
  std::string method = {};
  /// Whether the row describes a baseline; a line separates it from the methods.
  bool control = false;
  std::vector<TableCell> cells = {};
};

struct ReportTable {
  std::vector<TableColumn> columns;  ///< the first column contains the heads of the rows
  std::vector<TableRow> rows;
};

/// Returns the table in HTML. A click on the title of a column sorts the rows (html_script.h).
std::string html_table(const ReportTable& table);

/// Returns the table in Markdown, followed by an empty line. Columns are aligned, so that the
/// source is readable as a table.
std::string markdown_table(const ReportTable& table);

}  // namespace longhaul
