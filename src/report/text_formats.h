#pragma once
// The report for other programs and for terminals.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/compare.h"
#include "report/results.h"

namespace longhaul {

/// Tables only, readable without rendering.
std::string markdown_report(const Results& results);

/// RFC 4180, one line per cell (run, task, opening, length, method), with a header; \n at line
/// ends. Column "group" is empty for the whole cell; the groups follow after all cells (groups.h).
std::string csv_report(const Results& results);

/// [{"task", "opening", "length", "method", "n", "mean", "low", "high", ...}, ...]; null without
/// scores.
nlohmann::ordered_json json_cells(const Results& results);

/// {"runs": [...], "cells": [...], "groups": [...] (parts of cells), "differences": [...] (methods
/// against dense)}.
nlohmann::ordered_json json_report(const Results& results);

/// A comparison in words and tables, and as an array of rows. `what` is its title: "A against B".
std::string markdown_comparison(const Results& results, const Comparison& comparison,
                                const std::string& what);
nlohmann::ordered_json json_comparison(const Results& results, const Comparison& comparison);

/// Notes on the comparison: samples missing on one side, prompts that differ.
std::vector<std::string> comparison_notes(const Comparison& comparison);

}  // namespace longhaul
