// A table as HTML.

#include <fmt/format.h>

#include "report/table.h"
#include "report/text.h"

namespace longhaul {
namespace {

std::string attribute(const char* name, const std::string& value) {
  return value.empty() ? "" : fmt::format(" {}=\"{}\"", name, escape_xml(value));
}

std::string column_head(const TableColumn& column, bool first) {
  return fmt::format("<th scope=\"col\" data-first=\"{}\"{}{}>{}</th>",
                     column.less_is_better ? "ascending" : "descending",
                     attribute("class", first || column.words ? "" : "num"),
                     attribute("title", column.tooltip), escape_xml(column.title));
}

/// The label may break after the parts of a method's options.
std::string row_head(const TableRow& row) {
  std::string label;
  for (const char c : escape_xml(row.head)) {
    label += c;
    if (c == ':' || c == ',') label += "<wbr/>";
  }
  return fmt::format("<th scope=\"row\"{}>{}</th>",
                     attribute("title", row.method == row.head ? "" : row.method), label);
}

std::string cell_html(const TableCell& cell, bool words) {
  std::string classes = cell.classes;
  if (words) classes += classes.empty() ? "text" : " text";
  std::string out = "<td" + attribute("class", classes);
  if (cell.tint > 0) out += fmt::format(" style=\"--a:{:.0f}\"", cell.tint);
  if (cell.value) out += fmt::format(" data-v=\"{:.6g}\"", *cell.value);
  out += attribute("title", cell.tooltip) + ">" + escape_xml(cell.text);
  if (!cell.detail.empty()) out += "<small>" + escape_xml(cell.detail) + "</small>";
  return out + "</td>";
}

std::string rows_html(const ReportTable& table, bool controls) {
  std::string out;
  for (const TableRow& row : table.rows) {
    if (row.control != controls) continue;
    out += "<tr" + attribute("data-m", row.method.empty() ? "" : row.head) + ">" + row_head(row);
    for (size_t i = 0; i < row.cells.size(); ++i) {
      out += cell_html(row.cells[i], table.columns[i + 1].words);
    }
    out += "</tr>\n";
  }
  return out;
}

}  // namespace

std::string html_table(const ReportTable& table) {
  std::string out = "<div class=\"scroll\"><table><thead><tr>";
  for (const TableColumn& column : table.columns) {
    out += column_head(column, &column == &table.columns.front());
  }
  out += "</tr></thead>\n<tbody>\n" + rows_html(table, false) + "</tbody>\n";
  const std::string controls = rows_html(table, true);
  if (!controls.empty()) out += "<tbody class=\"apart\">\n" + controls + "</tbody>\n";
  return out + "</table></div>\n";
}

}  // namespace longhaul
