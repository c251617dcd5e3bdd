#pragma once
// Formats rows of text in aligned columns.

#include <string>
#include <vector>

namespace longhaul {

class Table {
 public:
  enum class Align { kLeft, kRight };
  /// `columns` has the alignments of the first columns. All other columns are left-aligned.
  explicit Table(std::vector<Align> columns = {}) : columns_(std::move(columns)) {}

  /// Adds a row. Control characters in the texts become \xNN (text/printable.h).
  void add(std::vector<std::string> row);
  bool empty() const { return rows_.empty(); }
  /// Returns the table with two spaces between columns and one line per row. Lines do not end with
  /// spaces.
  std::string text(const std::string& indent = "") const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace longhaul
