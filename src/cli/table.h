#pragma once
// Formats rows of text in aligned columns.

#include <string>
#include <vector>

namespace longhaul {

class Table {
 public:
  enum class Align { kLeft, kRight };
  /// `columns` are the alignments. Further columns are left-aligned.
  explicit Table(std::vector<Align> columns = {}) : columns_(std::move(columns)) {}

  /// Adds a row. Control characters in the texts become \xNN (text/printable.h).
  void add(std::vector<std::string> row);
  bool empty() const { return rows_.empty(); }
  /// Returns the table with two spaces between columns and one line per row. Nothing follows the
  /// last column.
  std::string text(const std::string& indent = "") const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace longhaul
