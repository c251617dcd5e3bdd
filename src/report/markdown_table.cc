// A table as Markdown.

#include <algorithm>

#include "report/table.h"
#include "report/text.h"

namespace longhaul {
namespace {

/// Width in characters, not bytes.
size_t width(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::vector<std::string> line_of(const TableRow& row) {
  std::vector<std::string> line{markdown_cell((row.control ? "control: " : "") + row.head)};
  for (const TableCell& cell : row.cells) {
    const std::string detail = cell.detail.empty() ? "" : " (" + cell.detail + ")";
    line.push_back(markdown_cell(cell.text + detail));
  }
  return line;
}

}  // namespace

std::string markdown_table(const ReportTable& table) {
  std::vector<std::vector<std::string>> lines(1);
  for (const TableColumn& column : table.columns) lines[0].push_back(markdown_cell(column.title));
  for (const TableRow& row : table.rows) lines.push_back(line_of(row));
  std::vector<size_t> widths(table.columns.size(), 3);
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width(line[i]));
  }
  const auto left = [&](size_t i) { return i == 0 || table.columns[i].words; };
  std::string out, rule = "|";
  for (size_t i = 0; i < widths.size(); ++i) {
    rule += "-" + std::string(widths[i], '-') + (left(i) ? "-|" : ":|");
  }
  for (const auto& line : lines) {
    out += '|';
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string pad(widths[i] - width(line[i]), ' ');
      out += left(i) ? " " + line[i] + pad + " |" : " " + pad + line[i] + " |";
    }
    out += '\n';
    if (&line == &lines.front()) out += rule + '\n';
  }
  return out + '\n';
}

}  // namespace longhaul
