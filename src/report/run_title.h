#pragma once
// One line each about what was run; every format of the report begins with them.

#include <span>
#include <string>

#include "report/run_folder.h"

namespace longhaul {

/// "Evaluation of nano", with the models of all runs.
std::string run_title(std::span<const RunFolder> runs);

/// Machine, version, build, seed and date, as far as run.json tells them.
std::string run_subtitle(std::span<const RunFolder> runs);

}  // namespace longhaul
