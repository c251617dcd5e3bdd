// A task's scores by group.

#include <fmt/format.h>

#include "report/groups.h"
#include "report/html_parts.h"
#include "report/text.h"

namespace longhaul {
namespace {

/// Controls stand apart, as behind the line of other tables.
bool begins_controls(const Results& results, const GroupTable& table, size_t column) {
  const auto control = [&](size_t c) { return results.series()[table.series[c]].control; };
  return control(column) && column > 0 && !control(column - 1);
}

std::string head_of(const Results& results, const GroupTable& table) {
  std::string head = "<tr><th>group</th>";
  for (size_t c = 0; c < table.series.size(); ++c) {
    const Series& s = results.series()[table.series[c]];
    head += fmt::format("<th class=\"num{}\" title=\"{}\">{}</th>",
                        begins_controls(results, table, c) ? " first" : "", escape_xml(s.method),
                        escape_xml(s.label));
  }
  return head + "</tr>";
}

std::string row_of(const Results& results, size_t variant, const GroupTable& table,
                   const GroupRow& group) {
  const TaskVariant& v = results.variants()[variant];
  const std::string label = group_label(group);
  std::string row = fmt::format("<tr><th scope=\"row\">{}</th>", escape_xml(label));
  for (size_t c = 0; c < table.series.size(); ++c) {
    const size_t series = table.series[c];
    const auto found = group.cells.find(series);
    const std::string where =
        fmt::format("{}, {}, {}, {}", v.label, label, length_text(table.length),
                    results.series()[series].method);
    row += html_score_cell(v.metric, found == group.cells.end() ? nullptr : &found->second, where,
                           true, begins_controls(results, table, c));
  }
  return row + "</tr>\n";
}

}  // namespace

std::string html_groups(const Results& results, size_t variant) {
  std::string out;
  for (const GroupTable& table : group_tables(results, variant)) {
    if (const auto instead = too_many_groups(table)) {
      out += fmt::format("<p>{}</p>\n", escape_xml(*instead));
      continue;
    }
    std::string rows;
    for (const GroupRow& row : table.rows) rows += row_of(results, variant, table, row);
    out += fmt::format("<p class=\"rule\"><b>{}</b></p>\n", group_title(table)) +
           html_table("scores", head_of(results, table), rows, "");
  }
  return out;
}

}  // namespace longhaul
