#pragma once
// Writes the report as Markdown, CSV and JSON.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/compare.h"
#include "report/results.h"

namespace longhaul {

/// Returns the report in Markdown. It has tables but no charts, and is readable in a terminal.
std::string markdown_report(const Results& results);

/// Returns the report as CSV (RFC 4180, except that lines end with a line feed only). After the
/// header there is one line per cell, for each run, task, opening, length and method. In these
/// lines, the column "group" is empty. After all cells, there is one line for each group of a cell
/// (groups.h).
std::string csv_report(const Results& results);

/// Returns [{"task", "opening", "length", "method", "n", "mean", "low", "high", ...}, ...], or null
/// if there are no scores.
nlohmann::ordered_json json_cells(const Results& results);

/// Returns {"runs": [...], "cells": [...], "groups": [...], "differences": [...]}. "groups" has the
/// results for the groups of cells (groups.h). "differences" compares methods with dense attention.
nlohmann::ordered_json json_report(const Results& results);

/// Returns a comparison as Markdown with sentences and tables. `what` is its title, such as "A
/// against B".
std::string markdown_comparison(const Results& results, const Comparison& comparison,
                                const std::string& what);
/// Returns the comparison as a JSON array of rows.
nlohmann::ordered_json json_comparison(const Results& results, const Comparison& comparison);

/// Returns sentences about samples that only one of two series has answered, and about prompts that
/// differ.
std::vector<std::string> comparison_notes(const Comparison& comparison);

}  // namespace longhaul
