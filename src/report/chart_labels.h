#pragma once
// Short names of methods for charts.

#include <cstddef>
#include <string>
#include <vector>

#include "report/results.h"

namespace longhaul {

/// A unique name for each series, of at most `most` characters. Labels that would be equal after
/// cutting are shortened to the options in which they differ; if that is not enough, they are
/// numbered.
std::vector<std::string> chart_labels(const Results& results, size_t most);

}  // namespace longhaul
