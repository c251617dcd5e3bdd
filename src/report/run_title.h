#pragma once
// Creates the title and the subtitle with which every format of the report begins.

#include <span>
#include <string>

#include "report/run_folder.h"

namespace longhaul {

/// Returns a title with the models of all runs, such as "Evaluation of nano".
std::string run_title(std::span<const RunFolder> runs);

/// Returns a line with the machine, version, build, seed and date. Items that run.json does not
/// contain are left out.
std::string run_subtitle(std::span<const RunFolder> runs);

}  // namespace longhaul
