#include "report/markdown_table.h"

#include <algorithm>

namespace longhaul {
namespace {

/// Characters, not bytes.
size_t width(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string MarkdownTable::text() const {
  std::vector<size_t> widths(rows_[0].size(), 3);
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string pad(widths[i] - width(rows_[r][i]), ' ');
      out += i == 0 ? "|" : "";
      out += i < left_ ? " " + rows_[r][i] + pad + " |" : " " + pad + rows_[r][i] + " |";
    }
    out += '\n';
    if (r > 0) continue;
    for (size_t i = 0; i < widths.size(); ++i) {
      const std::string rule(widths[i], '-');
      out += i == 0 ? "|" : "";
      out += i < left_ ? "-" + rule + "-|" : "-" + rule + ":|";
    }
    out += '\n';
  }
  return out + '\n';
}

}  // namespace longhaul
