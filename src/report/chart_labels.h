#pragma once
// Makes short names of series for charts. A series is a method of one run (report/results.h).

#include <cstddef>
#include <string>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// Returns a unique name of at most `most` characters for each series. It is Series::label,
/// shortened if necessary. If several shortened labels would be equal, each name consists of the
/// options in which the methods differ. If such names are still equal, they are numbered.
std::vector<std::string> chart_labels(const Results& results, size_t most);

}  // namespace longhaul
