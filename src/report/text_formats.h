#pragma once
// Writes the report in formats for other programs and for terminals.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/compare.h"
#include "report/results.h"

namespace longhaul {

/// Returns the report in Markdown. It has only tables and is readable without rendering.
std::string markdown_report(const Results& results);

/// Returns the report as CSV (RFC 4180, but lines end with a line feed only). After the header,
/// there is one line per cell (run, task, opening, length, method), in which the column "group" is
/// empty. Lines for the groups of cells (groups.h) follow after all cells.
std::string csv_report(const Results& results);

/// Returns [{"task", "opening", "length", "method", "n", "mean", "low", "high", ...}, ...], or null
/// if there are no scores.
nlohmann::ordered_json json_cells(const Results& results);

/// Returns {"runs": [...], "cells": [...], "groups": [...], "differences": [...]}. Groups are parts
/// of cells, and differences compare methods with dense attention.
nlohmann::ordered_json json_report(const Results& results);

/// Returns a comparison in words and tables. `what` is the title, such as "A against B".
std::string markdown_comparison(const Results& results, const Comparison& comparison,
                                const std::string& what);
/// Returns the comparison as a JSON array of rows.
nlohmann::ordered_json json_comparison(const Results& results, const Comparison& comparison);

/// Returns notes on samples that one side lacks and on prompts that differ.
std::vector<std::string> comparison_notes(const Comparison& comparison);

}  // namespace longhaul
