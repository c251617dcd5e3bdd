#pragma once
// Tables of Markdown.

#include <string>
#include <vector>

namespace longhaul {

/// Rows with columns aligned, so that the source reads as a table too.
class MarkdownTable {
 public:
  /// The first `left` columns hold texts, the others numbers.
  explicit MarkdownTable(std::vector<std::string> head, size_t left = 1) : left_(left) {
    rows_.push_back(std::move(head));
  }
  /// As many cells as the head has, as markdown_cell() writes them.
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// With an empty line behind it.
  std::string text() const;

 private:
  size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace longhaul
