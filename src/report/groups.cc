#include "report/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/units.h"
#include "report/text.h"

namespace longhaul {
namespace {

constexpr size_t kFewestGroups = 2, kMostPrinted = 60;

/// Key for natural sorting: texts compare as they are, except that runs of digits compare as
/// numbers.
std::string sort_key(const std::string& group) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string key;
  for (size_t i = 0; i < group.size();) {
    size_t end = i;
    while (end < group.size() && digit(group[end])) ++end;
    if (end == i) {
      key += group[i++];
      continue;
    }
    while (i + 1 < end && group[i] == '0') ++i;
    key += '0';  // relative to other characters a number sorts like a digit
    key += static_cast<char>(std::min<size_t>(end - i, 255));
    key.append(group, i, end - i);
    i = end;
  }
  return key;
}

GroupTable table_at(const Results& results, size_t variant, int64_t length) {
  using Name = std::pair<std::string, std::string>;  // (key, group)
  std::map<Name, std::map<size_t, std::vector<const Record*>>> records;
  std::set<size_t> answered;
  for (size_t series = 0; series < results.series().size(); ++series) {
    const Cell* cell = results.cell(variant, length, series);
    if (cell == nullptr) continue;
    answered.insert(series);
    for (const Record* r : cell->records) {
      records[{sort_key(r->group), r->group}][series].push_back(r);
    }
  }
  GroupTable table{length, {answered.begin(), answered.end()}, {}};
  if (records.size() < kFewestGroups) return table;
  for (auto& [name, by_series] : records) {
    GroupRow row{name.second, {}};
    for (auto& [series, list] : by_series) {
      row.cells[series] = cell_of(std::move(list), results.series()[series].control);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

std::vector<GroupTable> group_tables(const Results& results, size_t variant) {
  std::vector<GroupTable> tables;
  for (const int64_t length : results.lengths_of(variant)) {
    GroupTable table = table_at(results, variant, length);
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  return tables;
}

std::optional<std::string> too_many_groups(const GroupTable& table) {
  if (table.rows.size() <= kMostPrinted) return std::nullopt;
  return fmt::format("{}: {} groups, which 'longhaul report --format csv' lists.",
                     group_title(table), with_commas(std::ssize(table.rows)));
}

std::string group_title(const GroupTable& table) {
  return table.length == 0 ? "By group" : "By group, " + length_title(table.length);
}

std::string group_label(const GroupRow& row) {
  constexpr size_t kLongest = 60;
  return row.group.empty() ? "(none)" : shortened(row.group, kLongest);
}

}  // namespace longhaul
