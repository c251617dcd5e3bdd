#pragma once
// Makes short names of methods for charts.

#include <cstddef>
#include <string>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// Returns a unique name of at most `most` characters for each series. If shortened labels would be
/// equal, they are reduced to the options in which they differ. If that is not sufficient, they are
/// numbered.
std::vector<std::string> chart_labels(const Results& results, size_t most);

}  // namespace longhaul
