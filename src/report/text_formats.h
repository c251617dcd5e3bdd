#pragma once
// Writes the report in formats for other programs and for terminals.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/compare.h"
#include "report/results.h"

namespace longhaul {

/// Returns the report in Markdown. It has only tables and is readable without rendering.
std::string markdown_report(const Results& results);

/// Returns the report as CSV (RFC 4180, but lines end with a line feed only). It has a header and a
/// line per cell (run, task, opening, length, method), in which the column "group" is empty. Lines
/// for the groups of cells follow after all cells (groups.h).
std::string csv_report(const Results& results);

/// [{"task", "opening", "length", "method", "n", "mean", "low", "high", ...}, ...]; null without
/// scores.
nlohmann::ordered_json json_cells(const Results& results);

/// {"runs": [...], "cells": [...], "groups": [...] (parts of cells), "differences": [...] (methods
/// against dense)}.
nlohmann::ordered_json json_report(const Results& results);

/// Returns a comparison in words and tables. `what` is the title, such as "A against B".
std::string markdown_comparison(const Results& results, const Comparison& comparison,
                                const std::string& what);
/// Returns the comparison as a JSON array of rows.
nlohmann::ordered_json json_comparison(const Results& results, const Comparison& comparison);

/// Returns notes on the comparison, about samples that one side lacks and prompts that differ.
std::vector<std::string> comparison_notes(const Comparison& comparison);

}  // namespace longhaul
