#pragma once
// Splits the answers of a task by Record::group. A group is a subject, a range of lengths, or a
// name that the user's own samples define.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "report/results.h"

namespace longhaul {

struct GroupRow {
  std::string group;             ///< name of the group; empty: answers without a group
  std::map<size_t, Cell> cells;  ///< results of the group, by the index of the series
};

struct GroupTable {
  int64_t length = 0;
  std::vector<size_t> series;  ///< indices of the series that have an answer
  /// Sorted by group; numbers in names are compared by value ("2 calls" before "10 calls").
  std::vector<GroupRow> rows;
};

/// Returns one table for each length at which the answers belong to more than one group. `variant`
/// is the index of the task in Results::variants().
std::vector<GroupTable> group_tables(const Results& results, size_t variant);

/// If a table has too many groups to be shown, returns the sentence that the report shows instead.
/// Otherwise returns nothing.
std::optional<std::string> too_many_groups(const GroupTable& table);

/// Returns the title of a table, such as "By group, 4K tokens". It is "By group" for samples with
/// lengths of their own.
std::string group_title(const GroupTable& table);
/// Returns the name of the group for display. Answers without a group also get a name.
std::string group_label(const GroupRow& row);

}  // namespace longhaul
