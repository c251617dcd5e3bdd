#pragma once
// Pieces that several sections of the page share.

#include <optional>
#include <string>
#include <vector>

#include "report/charts.h"
#include "report/results.h"

namespace longhaul {

std::string html_section(const std::string& id, const std::string& title, const std::string& intro,
                         const std::string& body);

/// Rows of a table: methods, and behind a line the controls.
std::string html_table(const std::string& classes, const std::string& head,
                       const std::string& methods, const std::string& controls);

/// "<th scope=row>": the series' label; the full text of the method under the pointer.
std::string html_row_head(const Series& series);

/// A score, tinted; its interval below it where `with_interval`. `cell` null: not asked. `where`:
/// what the pointer shows before the numbers. `apart`: with a gap before it.
std::string html_score_cell(const Metric& metric, const Cell* cell, const std::string& where,
                            bool with_interval, bool apart = false);
/// The cell of the results.
std::string html_score_cell(const Results& results, const CellKey& key, bool with_interval,
                            bool apart = false);

/// A cell with classes "good" or "bad" for the tint of a score in 0..1.
std::string html_tint(double score);

/// A task's scores by group, groups down and methods across; "" where there are no groups.
std::string html_groups(const Results& results, size_t variant);

/// Charts side by side; `classes` "charts" or "maps". "" for none.
std::string html_charts(const std::vector<NamedChart>& charts, const std::string& classes);

}  // namespace longhaul
