#pragma once
// Title and subtitle with which every format of the report begins.

#include <span>
#include <string>

#include "report/run_folder.h"

namespace longhaul {

/// "Evaluation of nano", with the models of all runs.
std::string run_title(std::span<const RunFolder> runs);

/// Machine, version, build, seed and date, if run.json contains them.
std::string run_subtitle(std::span<const RunFolder> runs);

}  // namespace longhaul
