#include "cli/table.h"

#include <algorithm>

#include "text/printable.h"

namespace longhaul {
namespace {

/// Characters, not bytes, of UTF-8 text.
size_t width_of(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace

void Table::add(std::vector<std::string> row) {
  for (std::string& text : row) text = one_line(text);
  rows_.push_back(std::move(row));
}

std::string Table::text(const std::string& indent) const {
  std::vector<size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line = indent;
    for (size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - width_of(row[c]), ' ');
      const bool right = c < columns_.size() && columns_[c] == Align::kRight;
      line += (c == 0 ? "" : "  ") + (right ? space + row[c] : row[c] + space);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace longhaul
