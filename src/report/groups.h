#pragma once
// Divides the answers of a task by Record::group. A group is a subject, a range of lengths, or a
// name from the user's own cases.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/results.h"

namespace longhaul {

struct GroupRow {
  std::string group;             ///< name of the group; empty: answers without a group
  std::map<size_t, Cell> cells;  ///< results by index of the series
};

struct GroupTable {
  int64_t length = 0;
  std::vector<size_t> series;  ///< indices of the series that have an answer
  /// Sorted by group; numbers in names are compared by value ("2 calls" before "10 calls").
  std::vector<GroupRow> rows;
};

/// Returns one table for each length at which the answers belong to more than one group.
std::vector<GroupTable> group_tables(const Results& results, size_t variant);

/// Returns the sentence that replaces a table with too many groups. The result is empty for other
/// tables.
std::optional<std::string> too_many_groups(const GroupTable& table);

/// Returns a title such as "By group, 4K tokens". For samples with lengths of their own, returns
/// "By group".
std::string group_title(const GroupTable& table);
/// Returns the text that tables show for the group.
std::string group_label(const GroupRow& row);

}  // namespace longhaul
