#pragma once
// Rows of text in aligned columns.

#include <string>
#include <vector>

namespace longhaul {

class Table {
 public:
  enum class Align { kLeft, kRight };
  /// Columns beyond the listed ones are left-aligned.
  explicit Table(std::vector<Align> columns = {}) : columns_(std::move(columns)) {}

  /// Control characters in the texts become \xNN (text/printable.h).
  void add(std::vector<std::string> row);
  bool empty() const { return rows_.empty(); }
  /// Two spaces between columns, nothing after the last one, each row on its own line.
  std::string text(const std::string& indent = "") const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace longhaul
