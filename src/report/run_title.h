#pragma once
// Creates the title and the subtitle with which every format of the report begins.

#include <span>
#include <string>

#include "report/run_folder.h"

namespace longhaul {

/// Returns a title with the models of all runs, such as "Evaluation of nano".
std::string run_title(std::span<const RunFolder> runs);

/// Returns machine, version, build, seed and date, as far as run.json contains them.
std::string run_subtitle(std::span<const RunFolder> runs);

}  // namespace longhaul
